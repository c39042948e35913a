"""Runs test cases at the same time, for cases that mostly wait."""

import concurrent.futures
import sys
import time
import unittest


def run(case, words_of):
    result, began = unittest.TestResult(), time.monotonic()
    case.run(result)
    trouble = [text for _, text in result.failures + result.errors]
    print(f"{'FAILED' if trouble else 'passed'} {case.id()} in {time.monotonic() - began:.1f} s")
    for text in trouble:
        print(text + words_of(case))
    sys.stdout.flush()
    return not trouble


def cases_of(classes, part_of_a_name):
    """The tests of the classes that have this in their name."""
    loader = unittest.TestLoader()
    every = [one(name) for one in classes for name in loader.getTestCaseNames(one)]
    return [case for case in every if part_of_a_name in case.id()]


def all_pass(cases, words_of=lambda case: ""):
    """`words_of` adds to the report of a case that failed."""
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        return all(list(pool.map(lambda case: run(case, words_of), cases)))
