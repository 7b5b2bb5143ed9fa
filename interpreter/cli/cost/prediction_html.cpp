// A call that is predicted as one file for a browser, without outside parts: figures, a timeline to zoom (wheel, drag),
// memory over the same time with its causes, the mesh with its domains of fast links, collectives, and the script with
// its costs in the margin. The page's program draws from the data behind it.
#include <algorithm>
#include <map>

#include "interpreter/cli/cost/prediction.h"
#include "interpreter/ir/op.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/staging/why_text.h"

namespace shard::cli {
namespace {

constexpr const char* kHead =
    R"(<!doctype html><html lang=en><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<style>
body{font:15px/1.45 system-ui,sans-serif;margin:0 auto;max-width:1200px;padding:1em;color:#222;background:#fff}
h1{font-size:1.3em}h2{font-size:1.05em;margin:1.6em 0 .4em}h2 small{font-weight:normal;color:#555}
canvas{width:100%;display:block;box-sizing:border-box;border:1px solid #ccc;touch-action:pan-y}
.n{display:flex;flex-wrap:wrap;gap:.5em 2em}.n b{display:block;font-size:1.25em}
table{border-collapse:collapse}td,th{padding:.1em .9em .1em 0;text-align:left;white-space:nowrap}.r{text-align:right}
.why{white-space:normal;min-width:20em}.scroll{overflow-x:auto}.script td{font:13px/1.5 monospace;white-space:pre}.script .r{color:#a33}.script .l{color:#777}
#tip{min-height:1.5em;font:13px monospace;overflow-wrap:anywhere}svg{max-width:100%;height:auto}
</style>
)";

// Colours go by line. A bar with more turns than one is a loop: lighter, with its first turns inside.
constexpr const char* kProgram = R"(
const $=i=>document.getElementById(i),S=[...new Set(D.events.map(e=>e[2]))].sort((a,b)=>a-b),end=D.end;
let a=0,b=end;const t=s=>s>=1?s.toFixed(2)+' s':s>=1e-3?(s*1e3).toFixed(2)+' ms':(s*1e6).toFixed(1)+' us',
G=v=>v>=2**30?(v/2**30).toFixed(2)+' GiB':(v/2**20).toFixed(2)+' MiB';
function size(c,h){const r=devicePixelRatio||1;c.width=c.clientWidth*r;c.height=h*r;c.style.height=h+'px';
const g=c.getContext('2d');g.scale(r,r);g.font='11px sans-serif';return g}
function time(){const c=$('time'),h=30*S.length+18,g=size(c,h),w=c.clientWidth,x=s=>(s-a)/(b-a)*w;
D.events.forEach(e=>{const l=x(e[0]),r=x(e[0]+e[1]);if(r<0||l>w)return;const y=30*S.indexOf(e[2]);
g.fillStyle=e[5]>1?'#e4e4e4':'hsl('+e[4]*47%360+',55%,'+(e[2]?'60%':'72%')+')';g.fillRect(l,y+2,Math.max(r-l,.5),26);
if(r-l>50){g.fillStyle='#111';g.save();g.beginPath();g.rect(l,y,r-l,30);g.clip();g.fillText(e[3],l+3,y+19);g.restore()}});
g.fillStyle='#333';const n=w<600?2:4;for(let i=0;i<=n;i++)g.fillText(t(a+(b-a)*i/n),Math.min(w*i/n+2,w-58),h-5)}
function memory(){const c=$('mem'),g=size(c,140),w=c.clientWidth,x=s=>(s-a)/(b-a)*w,
top=D.memory.reduce((m,v)=>Math.max(m,v[1]),0),m=Math.max(top,top>D.limit/4?D.limit:0)*1.1||1,y=v=>136-v/m*132;let p=0;
g.fillStyle='#9bc';D.memory.forEach(v=>{g.fillRect(x(p),y(v[1]),Math.max(x(v[0])-x(p),.5),136-y(v[1]));p=v[0]});
g.fillStyle='#368';g.fillRect(0,y(D.always),w,1);g.fillText('arguments and results: '+G(D.always),4,y(D.always)+(y(D.always)>122?-4:12));
if(m>D.limit){g.fillStyle='#c33';g.fillRect(0,y(D.limit),w,1);g.fillText('the chip: '+G(D.limit),4,y(D.limit)-3)}
g.fillStyle='#222';g.fillText('at most '+G(top),w-120,12)}
const draw=()=>{time();memory()},c=$('time');
c.onwheel=e=>{e.preventDefault();const p=a+(b-a)*e.offsetX/c.clientWidth,f=e.deltaY>0?1.25:.8;
a=Math.max(0,p-(p-a)*f);b=Math.min(end,p+(b-p)*f);draw()};
let drag=null;c.onpointerdown=e=>{drag=[e.offsetX,a,b]};onpointerup=()=>drag=null;
c.onpointermove=e=>{if(drag){let d=(drag[0]-e.offsetX)/c.clientWidth*(drag[2]-drag[1]);
d=Math.max(-drag[1],Math.min(end-drag[2],d));a=drag[1]+d;b=drag[2]+d;draw();return}
const s=a+(b-a)*e.offsetX/c.clientWidth,k=S[Math.floor(e.offsetY/30)],f=D.events.filter(v=>v[2]==k&&v[0]<=s&&s<=v[0]+v[1]).pop();
$('tip').textContent=f?f[3]+'  '+t(f[1])+'  line '+f[4]+(f[5]>1?'  '+f[5]+' turns':''):''};
c.ondblclick=()=>{a=0;b=end;draw()};onresize=draw;draw();
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}
// Text in a script: `</` would end it.
std::string quoted(std::string_view text) {
  std::string out = lang::json_string(text);
  for (std::size_t at = 0; (at = out.find("</", at)) != std::string::npos;) out.replace(at, 2, "<\\/");
  return out;
}

std::string figure(const std::string& what, const std::string& value) {
  return "<div>" + what + "<b>" + escaped(value) + "</b></div>\n";
}

std::string axes_text(const std::vector<std::string>& axes) {
  std::string out;
  for (const std::string& a : axes) out += (out.empty() ? "@" : ", @") + a;
  return out;
}

std::string collectives(const Prediction& f, const grammar::SourceMap& sources) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> seconds;  // of one, by where it comes from
  for (const cost_model::Event& e : f.of.time.events)
    if (e.stream) seconds[{e.node->span.source, e.node->span.begin}] = e.seconds;
  std::string out =
      "<h2>Collectives</h2><div class=scroll><table id=collectives><tr><th>kind<th>axes<th class=r>times<th "
      "class=r>bytes"
      "<th class=r>one takes<th class=r>line<th>why\n";
  struct Row {  // what is the same is said once
    std::string before, behind;
    std::int64_t times;
  };
  std::vector<Row> rows;
  for (const exec::CommRecord& r : f.call.plan->comm()) {
    const auto one = seconds.find({r.span.source, r.span.begin});
    Row row{"<tr><td>" + r.kind + "<td>" + escaped(axes_text(r.axes)) + "<td class=r>",
            "<td class=r>" + bytes_text(static_cast<double>(r.bytes)) + "<td class=r>" +
                (one == seconds.end() ? "" : time_text(one->second)) + "<td class=r>" +
                std::to_string(source_line(sources, r.span)) + "<td class=why>" +
                (r.written ? "written"
                 : r.why   ? "inserted: " + escaped(lang::why_text(*r.why, *r.op, sources, r.span))
                           : "inserted") +
                "\n",
            r.count};
    const auto same = std::find_if(rows.begin(), rows.end(),
                                   [&](const Row& x) { return x.before == row.before && x.behind == row.behind; });
    if (same != rows.end())
      same->times += row.times;
    else
      rows.push_back(std::move(row));
  }
  for (const Row& row : rows) out += row.before + std::to_string(row.times) + row.behind;
  return out + "</table></div>\n";
}

// The devices, in rows along the last axis; those of one domain of fast links have one colour.
std::string mesh_picture(const Prediction& f, const cost_model::Chip& chip) {
  if (!f.call.mesh) return "";
  constexpr std::int64_t kAcross = 64, kDown = 16, kSide = 16;
  const std::int64_t n = f.call.mesh->size();
  const auto& axes = f.call.mesh->axes;
  auto along = std::find_if(axes.rbegin(), axes.rend(), [](const runtime::MeshAxis& a) { return a.size > 1; });
  if (along == axes.rend()) along = axes.rbegin();
  const std::int64_t last = along->size;
  const std::int64_t across = std::min(last, kAcross), down = std::min(n / last, kDown);
  std::int64_t domain = 1;
  for (const std::int64_t d : chip.domain) domain *= d;
  std::string out = "<h2>Mesh <small>" + escaped(runtime::to_string(*f.call.mesh)) + ": rows along @" +
                    escaped(along->name) + "; one colour, one domain of " + std::to_string(domain) +
                    " chips with fast links" +
                    (across * down < n ? "; the first of " + std::to_string(n) + " devices" : "") +
                    "</small></h2>\n<svg id=mesh width=" + std::to_string(across * kSide) +
                    " height=" + std::to_string(down * kSide) + " viewBox=\"0 0 " + std::to_string(across * kSide) +
                    " " + std::to_string(down * kSide) + "\">";
  for (std::int64_t r = 0; r < down; ++r)
    for (std::int64_t c = 0; c < across; ++c) {
      const std::int64_t device = r * last + c;
      out += "<rect x=" + std::to_string(c * kSide + 1) + " y=" + std::to_string(r * kSide + 1) +
             " width=14 height=14 fill=\"hsl(" + std::to_string(device / domain * 67 % 360) +
             ",45%,65%)\"><title>device " + std::to_string(device) + "</title></rect>";
    }
  return out + "</svg>\n";
}

std::string causes(const cost_model::Memory& m, const grammar::SourceMap& sources) {
  std::string out = "<div class=scroll><table id=memory><tr><th>held at the peak<th class=r>bytes<th class=r>line\n";
  for (std::size_t w = 0; w < cost_model::kWhys; ++w) {
    const auto why = static_cast<cost_model::MemoryCause>(w);
    if (m.of(why) == 0) continue;
    std::string words(cost_model::words_of(why)), lines;
    std::replace(words.begin(), words.end(), '_', ' ');
    std::vector<int> shown;
    for (const cost_model::Cause& c : m.causes) {
      const int line = c.why == why ? source_line(sources, c.where) : 0;
      if (line == 0 || shown.size() == 5 || std::find(shown.begin(), shown.end(), line) != shown.end()) continue;
      shown.push_back(line);
      lines += (lines.empty() ? "" : ", ") + std::to_string(line);
    }
    out += "<tr><td>" + words + "<td class=r>" + bytes_text(static_cast<double>(m.of(why))) + "<td class=r>" + lines +
           "\n";
  }
  return out + "</table></div>\n";
}

// The file of the function, a line each: what it computes, waits, and holds at the peak.
std::string script(const Prediction& f, const grammar::SourceMap& sources) {
  const std::uint32_t file = f.call.where.source;
  if (!sources.has(file)) return "";
  const grammar::Source& source = sources.at(file);
  std::map<int, cost_model::LineCost> cost;
  std::map<int, std::int64_t> held;
  for (const auto& [span, c] : f.of.time.lines)
    if (span.source == file) {
      cost[source_line(sources, span)].compute += c.compute;
      cost[source_line(sources, span)].exposed += c.exposed;
    }
  for (const cost_model::Cause& c : f.of.memory.causes)
    if (c.where.source == file) held[source_line(sources, c.where)] += c.bytes;
  std::string out = "<h2>" + escaped(source.name()) +
                    "</h2><div class=scroll><table class=script id=script><tr><th class=r>computes<th class=r>waits<th "
                    "class=r>holds<th class=r>line<th>\n";
  const int lines = source.position(static_cast<std::uint32_t>(source.text().size())).line;
  for (int l = 1; l <= lines; ++l) {
    const cost_model::LineCost& c = cost[l];
    out += "<tr><td class=r>" + (c.compute > 0 ? time_text(c.compute) : "") + "<td class=r>" +
           (c.exposed > 0 ? time_text(c.exposed) : "") + "<td class=r>" +
           (held[l] > 0 ? bytes_text(static_cast<double>(held[l])) : "") + "<td class=l>" + std::to_string(l) + "<td>" +
           escaped(source.line(l)) + "\n";
  }
  return out + "</table></div>\n";
}

// [seconds until which, bytes], and the events of the timeline.
std::string data(const Prediction& f, const cost_model::Chip& chip, const grammar::SourceMap& sources) {
  const cost_model::Profile& t = f.of.time;
  const cost_model::Memory& m = f.of.memory;
  std::map<const ir::Node*, double> done;
  double end = 0;
  for (const cost_model::Event& e : t.events) {
    done[e.node] = std::max(done[e.node], e.start + e.seconds);
    end = std::max(end, e.start + e.seconds);
  }
  std::string out = "const D={\"limit\":" + number(chip.memory) + ",\"end\":" + number(std::max(end, 1e-9)) +
                    ",\"always\":" + std::to_string(m.arguments + m.of(cost_model::MemoryCause::Results)) +
                    ",\"memory\":[";
  double now = 0;
  for (std::size_t i = 0; i < m.curve.size(); ++i) {
    const auto at = done.find(m.curve[i].first);
    now = std::max(now, at == done.end() ? 0 : at->second);
    out += (i ? ",[" : "[") + number(now) + "," + std::to_string(m.curve[i].second) + "]";
  }
  out += "],\"events\":[";
  for (std::size_t i = 0; i < t.events.size(); ++i) {
    const cost_model::Event& e = t.events[i];
    out += (i ? ",\n[" : "\n[") + number(e.start) + "," + number(e.seconds) + "," + std::to_string(e.stream) + "," +
           quoted(e.node->op->name) + "," + std::to_string(source_line(sources, e.node->span)) + "," +
           std::to_string(e.turns) + "]";
  }
  return out + "]};";
}

}  // namespace

std::string html(const Prediction& f, const cost_model::Chip& chip, const grammar::SourceMap& sources,
                 const std::string& more) {
  const cost_model::Profile& t = f.of.time;
  const double wait = t.waits();
  const std::string on = std::to_string(f.call.mesh ? f.call.mesh->size() : 1) + " x " + chip.name +
                         (f.call.mesh ? " " + runtime::to_string(*f.call.mesh) : "");
  return kHead + ("<title>" + escaped(f.call.name) + "</title><h1>" + escaped(f.call.name + " on " + on)) +
         "</h1><div class=n>\n" + figure("one call", time_text(t.seconds)) +
         figure("computes", time_text(t.compute) + ", " + percent_text(t.compute, t.seconds)) +
         figure("waits for others", time_text(wait) + ", " + percent_text(wait, t.seconds)) +
         figure("memory", bytes_text(static_cast<double>(f.of.memory.peak)) + " of " + bytes_text(chip.memory) +
                              (f.of.fits ? "" : ": does not fit")) +
         "</div>" + more +
         "<h2>Timeline <small>computing above, groups of devices below; wheel and drag zoom and move, a double "
         "click "
         "shows all; of a loop the first turns</small></h2><canvas id=time></canvas><div id=tip></div><h2>Memory of a "
         "device</h2>"
         "<canvas id=mem></canvas>\n" +
         causes(f.of.memory, sources) + mesh_picture(f, chip) + collectives(f, sources) + script(f, sources) +
         "<script>\n" + data(f, chip, sources) + kProgram + "</script>\n</html>\n";
}

}  // namespace shard::cli
