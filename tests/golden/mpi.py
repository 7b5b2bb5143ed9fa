"""The same script alone and under mpirun, by the module for MPI: the same words; and what falls out of step is told by every process.

Usage: mpi.py SHARD. mpirun gives process 0 a terminal: no colours are asked for. A killed process is not tried: there MPI's launcher ends the job itself, with its own message.
"""
import os
import sys
import tempfile

from processes import FALLS, HEAD, SAME, run, same

LESSONS = [f'scripts/{name}.shard' for name in (
    'quickstart', 'data_parallel', 'fully_sharded', 'tensor_parallel', 'by_hand/collectives', 'by_hand/collective_matmul', 'by_hand/ring',
    'by_hand/halo', 'by_hand/experts', 'by_hand/pipeline', 'layouts/three_ways', 'training/logistic')]
MPIRUN = ['mpirun', '--oversubscribe', '-n']
ENVIRONMENT = {'NO_COLOR': '1', 'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}


def main():
    shard = os.path.abspath(sys.argv[1])
    os.environ.update(ENVIRONMENT)
    ways = [[shard, 'run'], [*MPIRUN, '2', shard, 'run'], [*MPIRUN, '4', shard, 'run']]
    scripts = [(None, SAME)] + [(path, None) for path in LESSONS]
    for path, text in scripts:
        alone, two, four = same(shard, path, text, ways)
        assert alone[0] == 0, (path, alone)
        assert two[:2] == alone[:2], (path, two, alone)
        assert four[:2] == alone[:2], (path, four, alone)
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, told, _) in FALLS.items():
            told = told.split(' in line')[0]                              # where another stands is known on one machine
            with open(folder + '/a.shard', 'w') as f: f.write(HEAD + text + '\n')
            for n in (2, 4):
                limit = '3s' if 'did not come' in told else '100s'
                code, _, err = run([*MPIRUN, str(n), shard, 'run', '--timeout', limit, 'a.shard'], folder)
                assert code != 0 and told in err, (name, n, code, err)
        with open(folder + '/a.shard', 'w') as f: f.write('print(1)\n')
        for rank, size, name in (('OMPI_COMM_WORLD_RANK', 'OMPI_COMM_WORLD_SIZE', 'Open MPI'), ('RANK', 'WORLD_SIZE', 'torchrun'), ('PMI_RANK', 'PMI_SIZE', 'PMI')):
            code, out, err = run([shard, 'run', 'a.shard'], folder, env=dict(os.environ, **{rank: '1', size: '4'}))
            assert code == 2 and not out and f'{name}' in err and 'process 1 of 4' in err and 'process 0 of 1' in err and 'note: ' in err, (name, code, out, err)
            code, out, err = run([shard, 'run', 'a.shard'], folder, env=dict(os.environ, **{rank: '0', size: '1'}))
            assert (code, out, err) == (0, '1\n', ''), (code, out, err)
    print('mpi: one, two and four processes say the same; whoever falls out of step is named; nobody takes himself to be alone')


if __name__ == '__main__':
    sys.exit(main())
