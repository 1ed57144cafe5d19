"""What each source file refers to, by the index that the compiler writes beside a debug build."""
import ctypes, os, shutil

DEFINITION, REFERENCE, IMPLICIT = 1 << 1, 1 << 2, 1 << 8


class Text(ctypes.Structure):
    _fields_ = [("data", ctypes.POINTER(ctypes.c_char)), ("length", ctypes.c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.data, self.length).decode() if self.length else ""


def library():
    """The compiler's own reader of its index."""
    swift = os.path.realpath(shutil.which("swiftc") or "swiftc")
    folder = os.path.join(os.path.dirname(os.path.dirname(swift)), "lib")
    for name in ("libIndexStore.so", "libIndexStore.dylib"):
        if os.path.exists(os.path.join(folder, name)):
            return ctypes.CDLL(os.path.join(folder, name))
    raise SystemExit(f"{folder}: there is no libIndexStore, which the toolchain brings along")


class Index:
    """The references of the files below a root folder.

    definitions  the file that defines a symbol, by the symbol's identifier; its name
    references   (file, line, symbol) of each use that somebody has written
    files        the files that the index knows
    """

    def __init__(self, store, root):
        self.lib = library()
        self.root = os.path.realpath(root) + os.sep
        self.definitions, self.names, self.references, self.files = {}, {}, set(), set()
        self._declare()
        error = ctypes.c_void_p()
        self.store = self.lib.indexstore_store_create(store.encode(), ctypes.byref(error))
        if not self.store:
            raise SystemExit(f"{store}: no index; 'swift build' makes one")
        for file, record in self._records():
            self._read(file, record)

    def _declare(self):
        lib, pointer = self.lib, ctypes.c_void_p
        for name, result, arguments in [
            ("store_create", pointer, [ctypes.c_char_p, ctypes.POINTER(pointer)]),
            ("store_units_apply_f", ctypes.c_bool, [pointer, ctypes.c_uint, pointer, pointer]),
            ("unit_reader_create", pointer, [pointer, ctypes.c_char_p, ctypes.POINTER(pointer)]),
            ("unit_reader_dispose", None, [pointer]),
            ("unit_reader_get_main_file", Text, [pointer]),
            ("unit_reader_get_modification_time", None, [pointer, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int64)]),
            ("unit_reader_dependencies_apply_f", ctypes.c_bool, [pointer, pointer, pointer]),
            ("unit_dependency_get_kind", ctypes.c_int, [pointer]),
            ("unit_dependency_get_name", Text, [pointer]),
            ("unit_dependency_get_filepath", Text, [pointer]),
            ("record_reader_create", pointer, [pointer, ctypes.c_char_p, ctypes.POINTER(pointer)]),
            ("record_reader_dispose", None, [pointer]),
            ("record_reader_occurrences_apply_f", ctypes.c_bool, [pointer, pointer, pointer]),
            ("occurrence_get_symbol", pointer, [pointer]),
            ("occurrence_get_roles", ctypes.c_uint64, [pointer]),
            ("occurrence_get_line_col", None, [pointer, ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_uint)]),
            ("symbol_get_usr", Text, [pointer]),
            ("symbol_get_name", Text, [pointer]),
        ]:
            function = getattr(lib, "indexstore_" + name)
            function.restype, function.argtypes = result, arguments

    def _records(self):
        """The newest record of each file below the root that is still there."""
        units, newest = [], {}
        visit = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, Text)(lambda _, name: units.append(str(name)) or True)
        self.lib.indexstore_store_units_apply_f(self.store, 0, None, ctypes.cast(visit, ctypes.c_void_p))
        for unit in units:
            error = ctypes.c_void_p()
            reader = self.lib.indexstore_unit_reader_create(self.store, unit.encode(), ctypes.byref(error))
            if not reader:
                continue
            file = os.path.realpath(str(self.lib.indexstore_unit_reader_get_main_file(reader)))
            if file.startswith(self.root) and os.path.exists(file):
                names = []

                def note(_, dependency):
                    is_record = self.lib.indexstore_unit_dependency_get_kind(dependency) == 2
                    path = os.path.realpath(str(self.lib.indexstore_unit_dependency_get_filepath(dependency)))
                    if is_record and path == file:
                        names.append(str(self.lib.indexstore_unit_dependency_get_name(dependency)))
                    return True

                apply = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)(note)
                self.lib.indexstore_unit_reader_dependencies_apply_f(reader, None, ctypes.cast(apply, ctypes.c_void_p))
                seconds, nanoseconds = ctypes.c_int64(), ctypes.c_int64()
                self.lib.indexstore_unit_reader_get_modification_time(
                    reader, ctypes.byref(seconds), ctypes.byref(nanoseconds))
                time = (seconds.value, nanoseconds.value)
                if names and time >= newest.get(file, ((-1, 0), ""))[0]:
                    newest[file] = (time, names[0])
            self.lib.indexstore_unit_reader_dispose(reader)
        return sorted((file, record) for file, (_, record) in newest.items())

    def _read(self, file, record):
        lib, name = self.lib, file[len(self.root):]
        self.files.add(name)
        error = ctypes.c_void_p()
        reader = lib.indexstore_record_reader_create(self.store, record.encode(), ctypes.byref(error))
        if not reader:
            return
        line, column = ctypes.c_uint(), ctypes.c_uint()
        usrs = {}

        def note(_, occurrence):
            roles = lib.indexstore_occurrence_get_roles(occurrence)
            if roles & IMPLICIT or not roles & (DEFINITION | REFERENCE):
                return True
            symbol = lib.indexstore_occurrence_get_symbol(occurrence)
            usr = usrs.get(symbol)
            if usr is None:
                usr = usrs[symbol] = str(lib.indexstore_symbol_get_usr(symbol))
                self.names.setdefault(usr, str(lib.indexstore_symbol_get_name(symbol)))
            lib.indexstore_occurrence_get_line_col(occurrence, ctypes.byref(line), ctypes.byref(column))
            if roles & DEFINITION:
                self.definitions.setdefault(usr, name)
            else:
                self.references.add((name, line.value, usr))
            return True

        apply = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)(note)
        lib.indexstore_record_reader_occurrences_apply_f(reader, None, ctypes.cast(apply, ctypes.c_void_p))
        lib.indexstore_record_reader_dispose(reader)
