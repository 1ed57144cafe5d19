"""What all parts use: running a program, and tables."""
import os, resource, subprocess, time


class Done:
    """What a run of a program gave."""

    def __init__(self, code, output, errors, seconds):
        self.code, self.output, self.errors, self.seconds = code, output, errors, seconds

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
