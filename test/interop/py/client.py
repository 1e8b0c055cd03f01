"""client.py PORT KEY: the Lock of redis-py, driven by lines on standard input.

What they mean is said in ../doc.go. The key of a Lock is its name.
"""

import os
import random
import sys
import time

import redis
from redis.exceptions import LockNotOwnedError

KIND = "python"


class Client:
    def __init__(self, port, key):
        self.redis = redis.Redis(host="127.0.0.1", port=int(port))
        self.key = key
        self.held = None

    def lock(self, ms):
        self.held = self.redis.lock(self.key, timeout=int(ms) / 1000, sleep=0.005)
        self.held.acquire()
        return "locked"

    def try_(self, ms):
        self.held = self.redis.lock(self.key, timeout=int(ms) / 1000)
        return "locked" if self.held.acquire(blocking=False) else "held"

    def unlock(self):
        try:
            self.held.release()
        except LockNotOwnedError:
            return "not held"
        return "unlocked"

    def count(self, n, counter, marker):
        switches = overlaps = 0
        for _ in range(int(n)):
            self.lock(20000)
            made = make(marker)
            overlaps += not made
            with open(counter) as file:
                number, last = file.read().split(" ")
            switches += last != KIND
            time.sleep(random.random() / 1000)
            with open(counter, "w") as file:
                file.write(f"{int(number) + 1} {KIND}")
            if made:
                os.unlink(marker)
            self.unlock()
            time.sleep(random.random() / 125)  # the other looks now and then only
        return f"counted {switches} {overlaps}"


def make(path):
    """Makes a file that must not be there, and says whether it did."""
    try:
        with open(path, "x"):
            return True
    except FileExistsError:
        return False


def main():
    client = Client(*sys.argv[1:])
    answers = {"lock": client.lock, "try": client.try_, "unlock": client.unlock, "count": client.count}
    for line in sys.stdin:
        command, *args = line.split()
        print(answers[command](*args), flush=True)


main()
