"""What the testers of this folder have in common: the programs, the model that they use, runs with limits."""
import argparse, base64, json, os, random, resource, shutil, signal, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def program(name):
    """The path of a program of the package: what the environment variable of its name says, or what is built here."""
    given = os.environ.get(name.upper().replace("-", "_"))
    if given:
        return given
    subprocess.run(["swift", "build", "--product", name], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    folder = subprocess.run(["swift", "build", "--show-bin-path"], cwd=ROOT, check=True, capture_output=True, text=True)
    return os.path.join(folder.stdout.strip(), name)


def arguments(description, **options):
    """The parser of a tester's command line, with what all of them take."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, help="the seed of the random choices; a new one each time by default")
    parser.add_argument("--keep", action="store_true", help="keep the folder, also where nothing was found")
    for name, (kind, default, text) in options.items():
        flag = "--" + name.replace("_", "-")
        if kind is bool:
            parser.add_argument(flag, action="store_true", help=text)
        else:
            parser.add_argument(flag, type=kind, default=default, help=f"{text} (default: {default})")
    result = parser.parse_args()
    if result.seed is None:
        result.seed = int.from_bytes(os.urandom(4), "big")
    return result


class Run:
    """One run of a program that has ended."""

    def __init__(self, command, status, output, errors, seconds, memory, isLate):
        self.command, self.status, self.output, self.errors = command, status, output, errors
        self.seconds, self.memory, self.isLate = seconds, memory, isLate

    @property
    def isKilled(self):
        return self.status < 0

    def __str__(self):
        how = f"status {self.status}" if self.status >= 0 else signal.Signals(-self.status).name
        if self.isLate:
            how = "too late"
        return f"{' '.join(map(str, self.command))}\n  {how} after {self.seconds:.2f} s: {self.errors.strip()[:2000]}"


def run(*command, input=None, seconds=60, memory=None, environment=None, cwd=None, before=None):
    """Runs a program to its end, or until the time is over.

    memory: the most bytes of address space that it may have.
    before: called with the process as soon as it runs.
    """
    command = [str(each) for each in command]

    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    variables = dict(os.environ, SWIFT_BACKTRACE="enable=no", **(environment or {}))
    # Files and no pipes: a program that prints a lot ends all the same, and a killed one leaves what it wrote.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as given:
        if input is not None:
            given.write(input if isinstance(input, bytes) else input.encode())
            given.seek(0)
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=given, stdout=out, stderr=errors, preexec_fn=limit, env=variables, cwd=cwd)
        if before:
            before(process)
        isLate = False
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            isLate = True
            process.kill()
            process.wait()
        end = time.monotonic()
        out.seek(0), errors.seek(0)
        text = errors.read(1 << 20).decode(errors="replace")
        return Run(command, process.returncode, out.read(), text, end - start, 0, isLate)


class Folder:
    """A folder that goes with the tester, unless it found something."""

    def __init__(self, name, keep=False):
        self.path = tempfile.mkdtemp(prefix=f"cdgen-{name}-")
        self.keep = keep

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.keep or kind not in (None, SystemExit):
            print(f"the files are in {self.path}", file=sys.stderr)
        else:
            shutil.rmtree(self.path, ignore_errors=True)

    def __truediv__(self, name):
        return os.path.join(self.path, name)


def fail(message, folder=None, again=None):
    """Ends the tester with what was found."""
    if folder:
        folder.keep = True
        print(f"the files are in {folder.path}", file=sys.stderr)
    print(f"error: {message}", file=sys.stderr)
    if again:
        print(f"again: {again}", file=sys.stderr)
    sys.stderr.flush()
    sys.stdout.flush()
    os._exit(1)


# Versions of one model, through all ways of migrating: 1 to 2 is made in place, 2 to 3 writes all rows into a new file,
# 3 to 4 changes a copy of the file. What a load gives is valid in each of them.
VERSIONS = {
    1: ("text: String", ""),
    2: ("text: String, mark: { type: Int16, default: 3 }", ""),
    3: ("text: String, mark: { type: String, default: none }", ""),
    4: ("text: String, mark: { type: String, default: none }, size: Int64", ""),
    5: ("text: String, mark: { type: String, default: none }, size: Int64, more: { type: Int64, default: 5 }", ""),
    6: ("text: String, mark: { type: Int64?, default: 3 }, size: Int64, more: { type: Int64, default: 5 }", ""),
}
MAPPINGS = {"3-4": "entities:\n  Note:\n    attributes: { size: length(text) }\n",
            "5-6": "entities:\n  Note:\n    attributes: { mark: length(mark) }\n"}


def write_model(folder, newest=6):
    """Makes the model's folder with the versions up to one."""
    os.makedirs(folder)
    with open(os.path.join(folder, "model.yaml"), "w") as out:
        out.write("id: 7D3C2A90-0E53-4D4A-8B0B-2A0B5D6C7E93\n")
    for number in range(1, newest + 1):
        attributes, more = VERSIONS[number]
        attributes = attributes.replace("size: Int64", "size: { type: Int64, default: 1 }")
        with open(os.path.join(folder, f"{number}.yaml"), "w") as out:
            out.write("entities:\n"
                      "  Folder:\n"
                      "    attributes: { name: String }\n"
                      "    relationships: { notes: { to: [Note], inverse: folder, ordered: true, onDelete: cascade } }\n"
                      "  Note:\n"
                      f"    attributes: {{ {attributes}, scan: {{ type: Data?, external: true }} }}\n"
                      f"    relationships: {{ folder: {{ to: Folder, inverse: notes }} }}\n{more}"
                      "    indexes: [[text]]\n")
    for steps, text in MAPPINGS.items():
        if int(steps.split("-")[1]) <= newest:
            with open(os.path.join(folder, f"{steps}.mapping.yaml"), "w") as out:
                out.write(text)


SCAN = base64.b64encode(bytes(range(256)) * 300).decode()


def unit(name, notes=5, scans=0):
    """What one save adds: a folder and its notes, some of them with a value that is a file."""
    rows = [{"text": f"{name}/{number}", "folder": "f", "scan": SCAN if number < scans else None} for number in range(notes)]
    return json.dumps({"Folder": [{"@id": "f", "name": name}], "Note": rows})
