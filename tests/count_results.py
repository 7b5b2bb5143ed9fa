#!/usr/bin/env python3
"""Counts single cases in CTest's JUnit files: Catch2's test cases, the cases of Python runners ("N passed, N failed"), else one a test.

    count_results.py JUNIT.xml...        prints "N passed, N failed"; status 1 where something failed
"""
import re, sys
import xml.etree.ElementTree as xml


def count(case):
    text = ''.join(t.text or '' for t in case.iter('system-out'))
    bad = case.get('status') != 'run' or case.find('failure') is not None
    passed = failed = 0
    if m := re.search(r'All tests passed \(.* in (\d+) test cases?\)', text): passed = int(m.group(1))
    elif m := re.search(r'test cases:(.*)', text):
        numbers = {k: int(n) for n, k in re.findall(r'(\d+) (passed|failed)', m.group(1))}
        passed, failed = numbers.get('passed', 0), numbers.get('failed', 0)
    elif m := re.findall(r'(\d+) passed, (\d+) failed', text): passed, failed = map(int, m[-1])
    else: passed = 0 if bad else 1
    if bad and not failed: failed = 1                   # a crash or a time limit
    return passed, failed


def main():
    passed = failed = 0
    for path in sys.argv[1:]:
        try: cases = list(xml.parse(path).getroot().iter('testcase'))
        except (OSError, xml.ParseError): cases = []
        if not cases: failed += 1
        for c in cases:
            p, f = count(c)
            passed, failed = passed + p, failed + f
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__': sys.exit(main())
