"""The words of help and messages that part-g changes, applied to any tree of sources: for conflicts, take the other side of a .cpp and run
    cd TREE && python3 /tmp/g_strings.py && ./dev format
Each text is found wherever it is, also broken over several literals; what is changed already is left alone."""
import re, subprocess
PAIRS = r'''
A warning that is not told; `shard help warnings` lists them => A warning to silence; `shard help warnings` lists them
for a machine that need not be here; their memory beside Shard's estimate => for a machine that need not be present; their memory next to Shard's estimate
Print the type of each `let` beside its line => Print the type of each `let` next to its line
--fix writes into files, and standard input is none => --fix writes into files, and standard input is not a file
Where to write it: X.mlir, and X.json with names and layouts beside it => Where to write it: X.mlir, with X.json for names and layouts
 --help` tells of it. =>  --help` explains it.
all: lines of every process, each behind its number => all: lines of every process, each after its number
unix or tcp; unix on one machine unless told otherwise => unix or tcp; on one machine unix by default
With --rules: how many candidates are foretold at most: 1000 => With --rules: how many candidates are predicted at most: 1000
run takes a script, or code behind -e: => run takes a script, or code after -e:
words behind -- reach it as `args` => words after -- reach it as `args`
(.json: a timeline) beside what is foretold => (.json: a timeline) that compares it with the prediction
(.json: a timeline) beside what is predicted => (.json: a timeline) that compares it with the prediction
the right arrow takes what stands dim behind the cursor. => the right arrow takes what is dim after the cursor.
Foretell time and memory of a script's compiled calls => Predict time and memory of a script's compiled calls
Foretell a script for every way to divide the devices => Predict a script for every way to divide the devices
Tell what each compiled call of a script does between devices; => Explain what each compiled call of a script does between devices;
:help tells of this session, :quit leaves it. => :help explains this session, :quit leaves it.
. :help tells more, :quit or Ctrl-D leaves. => . :help shows more, :quit or Ctrl-D leaves.
advice, foretold like the rest => advice, predicted like the rest
constraints, foretold like the rest => constraints, predicted like the rest
it was not foretold => it was not predicted
, foretold on  => , predicted on 
   measured   foretold   line =>    measured  predicted   line
   measured   predicted   line =>    measured  predicted   line
   measured   foretold   program =>    measured  predicted   program
   measured   predicted   program =>    measured  predicted   program
<h2>Measured and foretold <small>of  => <h2>Measured and predicted <small>of 
the least that each instruction took; foretold on  => the least that each instruction took; predicted on 
<th class=r>measured<th class=r>foretold<th  => <th class=r>measured<th class=r>predicted<th 
# small programs are foretold with  => # small programs are predicted with 
nothing behind this ` => nothing after this `
write `else if`, behind the `}` of the `if` => write `else if`, after the `}` of the `if`
arrays are stacked behind the last dimension by => arrays are stacked after the last dimension by
Statements stand behind a `return`, `break` or `continue` and never run. => Statements after a `return`, `break` or `continue` never run.
before the script runs; also behind an `if` of which both parts leave. => before the script runs; also after an `if` of which both parts leave.
gives a value, and does nothing beside that. => gives a value, and does nothing else.
`shard help CODE` tells of one. => `shard help CODE` explains one.
per-device code needs a mesh, and there is none => per-device code needs a mesh, and none is declared
a region of another mode needs a mesh, and there is none => a region of another mode needs a mesh, and none is declared
` is none: begin with a number, => ` is `none`: begin with a number,
"there is none called ` => "no option is called `
Tells a warning, once a place, and goes on; from inside of a module of the library it is told at the script's call. => Prints a warning, once for each place, and goes on; from inside of a module of the library it is shown at the script's call.
plan divides the devices of a mesh, and there is none => plan divides the devices of a mesh, and none is declared
offloads to the host's memory beside it, `peak_line` where it is. => offloads to the host's memory, which is not in the peak, `peak_line` where the peak is.
A call f(xs...) foretold on a chip (`chip:`, as for estimate) for all ways => Predicts a call f(xs...) on a chip (`chip:`, as for estimate) for all ways
A call f(xs...) predicted on a chip (`chip:`, as for estimate) for all ways => Predicts a call f(xs...) on a chip (`chip:`, as for estimate) for all ways
x; where a script is foretold without its data (`shard estimate`) and x is not known, `value`. => x; but `value` where a script is predicted without its data (`shard estimate`) and x is not known.
x; where a script is predicted without its data (`shard estimate`) and x is not known, `value`. => x; but `value` where a script is predicted without its data (`shard estimate`) and x is not known.
of a call that gives a value beside gradients what it keeps => of a call that gives a value and gradients what it keeps
with a line on the terminal that tells how far it is, => with a line on the terminal that shows how far it is,
gives a record of numbers to stand beside, fn() = {loss: loss}; => gives a record of numbers to show with it, fn() = {loss: loss};
Where there is no terminal, a line every 30 s. => Without a terminal, a line every 30 s.
for (source, destination) pairs, zeros where there is none; => for (source, destination) pairs, zeros without a source;
The path of a file that lies beside the script which asks: here => The path of a file in the folder of the script that calls: here
bytes stand behind its zip directory => bytes follow its zip directory
help NAME tells of a function or a word: help matmul => help NAME explains a function or a word: help matmul
`shard help --all` tells of all builtins, as a page. => `shard help --all` describes all builtins, as a page.
in the layout of `like`, or none where there is none yet. => in the layout of `like`, or `none` before the first.
there is none: the folder is no checkpoint => it is missing: the folder is no checkpoint
arrays come in their layout, and all that does not fit is told. => arrays come in their layout, and all that does not fit is reported.
a number of steps is told by `length:`: scan => give the number of steps with `length:`: scan
an empty list beside arrays makes no array => an empty list among arrays makes no array
finfo tells of float types, this is  => finfo describes float types, this is 
iinfo tells of integer types, this is  => iinfo describes integer types, this is 
it is made behind derivatives, by the partitioner => the partitioner makes it, after derivatives
The x of the source device, zeros where there is none. => The x of the source device, zeros without a source.
The x of the source element, zeros where there is none. => The x of the source element, zeros without a source.
of n elements: cut, or zeros behind. => of n elements: cut, or padded with zeros.
 is empty, so there is nothing to repeat beside it; =>  is empty, so there is nothing to repeat;
A value before and behind the elements of each dimension: [(before, behind), ...]; => A value before and after the elements of each dimension: [(before, after), ...];
a whole dimension is merged with a split one behind it => a whole dimension is merged with a split one after it
A value before, behind and (interior) between the elements => A value before, after and (interior) between the elements
 differ beside the axis =>  differ in dimensions other than the axis
`pads` before and behind each spatial dimension in place of `padding`, => `pads` before and after each spatial dimension instead of `padding`,
the result stands behind `->`: => the result follows `->`:
widths go to `pads: [(before, behind), ...]` => widths go to `pads: [(before, after), ...]`
Every window of the spatial dimensions, beside its position; padding: zeros before and behind; => Every window of the spatial dimensions, at its position; padding: zeros before and after;
Where v would be put into sorted lines, before equals or behind them. => Where v would be put into sorted lines, before equals or after them.
-inf where there are none. => -inf for an empty segment.
; inf where there are none. => ; inf for an empty segment.
; 1 where there are none. => ; 1 for an empty segment.
 lines stand behind subjects:  =>  lines follow subjects: 
a sum pending over => a sum unreduced over
'''
GAP = r'(?:"\s*\n\s*")?'
pairs = [line.split(' => ', 1) for line in PAIRS.strip('\n').split('\n')]
rules = [(re.compile(GAP.join(map(re.escape, old))), new) for old, new in pairs]
for path in subprocess.run(['git', 'ls-files', 'interpreter', 'stdlib', 'runtime', 'grammar'], capture_output=True, text=True).stdout.split():
    if not path.endswith(('.cpp', '.h')): continue
    with open(path, encoding='utf-8') as f: text = f.read()
    changed = text
    for rule, new in rules: changed = rule.sub(lambda m: new, changed)
    if changed != text:
        with open(path, 'w', encoding='utf-8') as f: f.write(changed)
        print(path)
