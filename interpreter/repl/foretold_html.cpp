// A call that is foretold as one file for a browser, without outside parts: figures, a timeline to zoom (wheel, drag),
// memory over the instructions, collectives, and the script with its costs in the margin. The page's program draws from
// the data; what it needs is 2 KB.
#include "interpreter/ir/op.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/repl/foretold.h"

namespace shard::repl {
namespace {

constexpr const char* kHead =
    R"(<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>
body{font:15px/1.45 system-ui,sans-serif;margin:0 auto;max-width:1200px;padding:1em;color:#222}
h1{font-size:1.3em}h2{font-size:1.05em;margin:1.6em 0 .4em}canvas{width:100%;display:block;border:1px solid #ccc}
.n{display:flex;flex-wrap:wrap;gap:.5em 2em}.n b{display:block;font-size:1.25em}
table{border-collapse:collapse}td,th{padding:.1em .8em .1em 0;text-align:left}.scroll{overflow-x:auto}
pre{margin:0;font:13px/1.5 monospace}pre i{display:inline-block;width:7em;font-style:normal;text-align:right;padding-right:1em;color:#a33}
#tip{min-height:1.5em;font:13px monospace;overflow-wrap:anywhere}
</style>
)";

constexpr const char* kProgram = R"(
const $=i=>document.getElementById(i),S=[...new Set(D.events.map(e=>e[2]))].sort((a,b)=>a-b),end=Math.max(...D.events.map(e=>e[0]+e[1]),1e-9);
let a=0,b=end;const t=s=>s>=1?s.toFixed(2)+' s':s>=1e-3?(s*1e3).toFixed(2)+' ms':(s*1e6).toFixed(1)+' us';
function size(c,h){const r=devicePixelRatio||1;c.width=c.clientWidth*r;c.height=h*r;c.style.height=h+'px';const g=c.getContext('2d');g.scale(r,r);g.font='11px sans-serif';return g}
function draw(){const c=$('time'),h=30*S.length+18,g=size(c,h),w=c.clientWidth,x=s=>(s-a)/(b-a)*w;
D.events.forEach(e=>{const l=x(e[0]),r=x(e[0]+e[1]);if(r<0||l>w)return;const y=30*S.indexOf(e[2]);
g.fillStyle=e[5]>1?'#eee':'hsl('+(e[4]*47%360)+',55%,'+(e[2]?'55%':'70%')+')';g.fillRect(l,y+2,Math.max(r-l,.5),26);
if(r-l>50){g.fillStyle='#111';g.save();g.beginPath();g.rect(l,y,r-l,30);g.clip();g.fillText(e[3],l+3,y+19);g.restore()}});
g.fillStyle='#333';for(let i=0;i<=4;i++)g.fillText(t(a+(b-a)*i/4),Math.min(w*i/4,w-52),h-5)}
function memory(){const c=$('mem'),g=size(c,140),w=c.clientWidth,m=Math.max(D.limit,...D.memory)*1.05,y=v=>135-v/m*130;
g.fillStyle='#9bc';D.memory.forEach((v,i)=>g.fillRect(i/D.memory.length*w,y(v),w/D.memory.length+.5,135-y(v)));
g.strokeStyle='#c33';g.beginPath();g.moveTo(0,y(D.limit));g.lineTo(w,y(D.limit));g.stroke();g.fillStyle='#c33';g.fillText('the chip: '+(D.limit/2**30).toFixed(1)+' GiB',4,y(D.limit)+12)}
const c=$('time');c.onwheel=e=>{e.preventDefault();const p=a+(b-a)*e.offsetX/c.clientWidth,f=e.deltaY>0?1.25:.8;a=Math.max(0,p-(p-a)*f);b=Math.min(end,p+(b-p)*f);draw()};
let drag=null;c.onpointerdown=e=>{drag=[e.offsetX,a,b]};onpointerup=()=>drag=null;
c.onpointermove=e=>{if(drag){let d=(drag[0]-e.offsetX)/c.clientWidth*(drag[2]-drag[1]);d=Math.max(-drag[1],Math.min(end-drag[2],d));a=drag[1]+d;b=drag[2]+d;draw();return}
const s=a+(b-a)*e.offsetX/c.clientWidth,k=S[Math.floor(e.offsetY/30)],f=D.events.filter(v=>v[2]==k&&v[0]<=s&&s<=v[0]+v[1]).pop();
$('tip').textContent=f?f[3]+'  '+t(f[1])+'  line '+f[4]+(f[5]>1?'  '+f[5]+' turns':''):''};
c.ondblclick=()=>{a=0;b=end;draw()};onresize=()=>{draw();memory()};draw();memory();
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  return out;
}

std::string figure(const std::string& what, const std::string& value) {
  return "<div>" + what + "<b>" + escaped(value) + "</b></div>\n";
}

std::string collectives(const Foretold& f, const grammar::SourceMap& sources) {
  std::string out = "<h2>Collectives</h2><div class=scroll><table><tr><th>kind<th>axes<th>times<th>bytes<th>line\n";
  for (const exec::CommRecord& r : f.call.plan->comm()) {
    std::string axes;
    for (const std::string& a : r.axes) axes += (axes.empty() ? "@" : ", @") + a;
    out += "<tr><td>" + r.kind + "<td>" + axes + "<td>" + std::to_string(r.count) + "<td>" +
           bytes_text(static_cast<double>(r.bytes)) + "<td>" + std::to_string(source_line(sources, r.span)) + "\n";
  }
  return out + "</table></div>\n";
}

// The file of the function, a line each, with what it computes and waits for.
std::string script(const Foretold& f, const grammar::SourceMap& sources) {
  if (!sources.has(f.call.where.source)) return "";
  const grammar::Source& source = sources.at(f.call.where.source);
  std::map<int, double> cost;
  for (const auto& [span, c] : f.of.time.lines)
    if (span.source == f.call.where.source) cost[source_line(sources, span)] += c.compute + c.exposed;
  std::string out = "<h2>" + escaped(source.name()) + "</h2><div class=scroll>\n";
  const int lines = source.position(static_cast<std::uint32_t>(source.text().size())).line;
  for (int l = 1; l <= lines; ++l)
    out += "<pre><i>" + (cost.contains(l) ? time_text(cost[l]) : "") + "</i>" + escaped(source.line(l)) + "</pre>\n";
  return out + "</div>\n";
}

}  // namespace

std::string html(const Foretold& f, const foresight::Chip& chip, const grammar::SourceMap& sources) {
  const foresight::Tally& t = f.of.time;
  const double wait = t.seconds - t.compute;
  const std::string on = std::to_string(f.call.mesh ? f.call.mesh->size() : 1) + " x " + chip.name +
                         (f.call.mesh ? " " + runtime::to_string(*f.call.mesh) : "");
  std::string out = kHead + ("<title>" + escaped(f.call.name) + "</title><h1>" + escaped(f.call.name + " on " + on)) +
                    "</h1><div class=n>\n" + figure("one call", time_text(t.seconds)) +
                    figure("computes", time_text(t.compute) + ", " + percent_text(t.compute, t.seconds)) +
                    figure("waits for others", time_text(wait) + ", " + percent_text(wait, t.seconds)) +
                    figure("memory", bytes_text(static_cast<double>(f.of.memory.peak)) + " of " +
                                         bytes_text(chip.memory) + (f.of.fits ? "" : ": does not fit")) +
                    "</div><h2>Timeline (wheel, drag, double click): computing above, groups of devices below</h2>"
                    "<canvas id=time></canvas><div id=tip></div><h2>Memory, instruction by instruction</h2>"
                    "<canvas id=mem></canvas>\n" +
                    collectives(f, sources) + script(f, sources) +
                    "<script>\nconst D={\"limit\":" + number(chip.memory) + ",\"memory\":[";
  for (std::size_t i = 0; i < f.of.memory.curve.size(); ++i)
    out += (i ? "," : "") + std::to_string(f.of.memory.curve[i]);
  out += "],\"events\":[";
  for (std::size_t i = 0; i < t.events.size(); ++i) {
    const foresight::Event& e = t.events[i];
    out += (i ? ",\n[" : "\n[") + number(e.start) + "," + number(e.seconds) + "," + std::to_string(e.stream) + "," +
           lang::json_string(e.node->op->name) + "," + std::to_string(source_line(sources, e.node->span)) + "," +
           std::to_string(e.turns) + "]";
  }
  return out + "]};" + kProgram + "</script>\n";
}

}  // namespace shard::repl
