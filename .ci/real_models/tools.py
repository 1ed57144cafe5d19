"""What all parts use: running a program, and tables."""
import os, resource, subprocess, tempfile, threading, time


class Done:
    """What a run of a program gave."""

    def __init__(self, code, output, errors, seconds, memory=0):
        self.code, self.output, self.errors, self.seconds, self.memory = code, output, errors, seconds, memory

    @property
    def crashed(self):
        """Whether a signal ended it."""
        return self.code is not None and self.code < 0

    def tail(self, count=300):
        return " ".join((self.errors or self.output).split())[-count:]


def run(*arguments, seconds=600, memory=None, text=None):
    """Runs a program; its code is None where it took too long. Memory is in bytes of address space."""
    def limit():
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    start = time.monotonic()
    try:
        done = subprocess.run([str(each) for each in arguments], input=text, capture_output=True, text=True, errors="replace",
                              timeout=seconds, preexec_fn=limit if memory else None)
        return Done(done.returncode, done.stdout, done.stderr, time.monotonic() - start)
    except subprocess.TimeoutExpired:
        return Done(None, "", f"no end after {seconds} s", time.monotonic() - start)


def measured(*arguments, seconds=60, memory=8 << 30):
    """The same, with the most memory that it took, in MB."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        process = subprocess.Popen([str(each) for each in arguments], stdout=output, stderr=errors, stdin=subprocess.DEVNULL,
                                   preexec_fn=limit)
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        isLate = not timer.is_alive()
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for each in (output, errors):
            each.seek(0)
            texts.append(each.read().decode(errors="replace"))
    return Done(None if isLate else process.returncode, *texts, time.monotonic() - start, usage.ru_maxrss >> 10)


class Table:
    """Lines of cells, with a legend above and sums beneath."""

    def __init__(self, title, columns, legend=""):
        self.title, self.columns, self.legend = title, columns, legend
        self.rows, self.sums = [], []

    def add(self, *cells):
        self.rows.append([str(cell) for cell in cells])

    def text(self):
        lines = [f"# {self.title}"] + [f"# {line}".rstrip() for line in self.legend.strip().splitlines()]
        lines += ["\t".join(self.columns)] + ["\t".join(row) for row in self.rows] + [f"= {each}" for each in self.sums]
        return "\n".join(lines) + "\n"


class Setting:
    """Where the programs and the projects are, and where results go."""

    def __init__(self, corpus, build, keep, names):
        self.corpus, self.build, self.keep, self.names = corpus, build, keep, names
        self.cdgen, self.cdstore = os.path.join(build, "cdgen"), os.path.join(build, "cdstore")
        self.modules = os.path.join(build, "Modules")
