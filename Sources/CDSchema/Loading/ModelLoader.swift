import CDModel

/// Reads a model from the files of its `NAME.cdmodel` folder, checks it, and says of every mistake where it
/// stands.
///
/// ```swift
/// let loaded = ModelLoader.load(folder: "Schemas/ToDo.cdmodel")
/// for diagnostic in loaded.diagnostics { print(diagnostic) }
/// guard let model = loaded.model else { … }
/// ```
public enum ModelLoader {
  /// Loads a model from files in memory.
  ///
  /// - Parameters:
  ///   - name: The model's name: the folder's without `.cdmodel`.
  ///   - files: The folder's files by their names.
  ///   - folder: The folder's path as messages are to show it; empty for the files' names alone.
  public static func load(name: String, files: [String: [UInt8]], folder: String = "") -> LoadedModel {
    load(name: name, files: files, folder: folder, diagnostics: DiagnosticCollector())
  }

  /// - Parameter names: Files that are there and could not be read, which was reported.
  static func load(
    name: String, files: [String: [UInt8]], unreadable names: [String] = [], folder: String,
    diagnostics: DiagnosticCollector
  ) -> LoadedModel {
    let folderPlace = SourceLocation(path: folder.isEmpty ? name + ".cdmodel" : folder, line: 1, column: 1)
    if let problem = NameRules.problem(with: name) {
      diagnostics.error(folderPlace, "the folder's name is the model's: \(problem)")
    }
    let modelFiles = classify(files, folder: folder, diagnostics: diagnostics)
    var positions = ElementPositions()
    var head: DecodedModelFile?
    var versions: [DecodedVersion] = []
    var unreadable = Set(names.compactMap(VersionFile.number))
    for file in modelFiles {
      switch file.kind {
      case .model:
        guard let context = parse(file, version: 0, &positions, diagnostics) else { continue }
        head = context.context.decodeModelFile(context.root)
        positions = context.context.positions
      case .version(let number):
        guard let context = parse(file, version: number, &positions, diagnostics) else {
          unreadable.insert(number)
          continue
        }
        versions.append(context.context.decodeVersion(context.root))
        positions = context.context.positions
      case .mapping, .lock, .other: continue
      }
    }
    if !modelFiles.contains(where: { $0.kind == .model }), !names.contains("model.yaml") {
      diagnostics.error(
        folderPlace, "the folder has no model.yaml, which holds the model's 'id' ('cdgen init' makes one)")
    }
    if versions.isEmpty && unreadable.isEmpty {
      diagnostics.error(folderPlace, "the model has no versions; the first one's file is 1.yaml")
    }
    versions.sort { $0.version.number < $1.version.number }
    let checker = ModelValidator(
      name: name, head: head, versions: versions, unreadable: unreadable, positions: positions,
      diagnostics: diagnostics)
    let checked = checker.validate()
    var model: ManagedObjectModel?
    if !diagnostics.containsErrors, let id = head?.id, let current = checked.current {
      model = ManagedObjectModel(
        name: name, id: id, imports: head?.imports ?? [], versions: checked.versions,
        currentVersionNumber: current)
    }
    return LoadedModel(
      model: model, diagnostics: diagnostics.sorted, files: modelFiles, positions: positions,
      access: head?.access)
  }

  /// Reads one file's tree. Nil where it is not readable to its end.
  private static func parse(
    _ file: ModelFile, version: Int, _ positions: inout ElementPositions, _ diagnostics: DiagnosticCollector
  ) -> (context: DecodingContext, root: MarkedNode?)? {
    let parsed = YAMLParser.parse(path: file.path, bytes: file.bytes, diagnostics: diagnostics)
    guard let source = parsed.source, parsed.isComplete else {
      return nil
    }
    let context = DecodingContext(
      source: source, version: version, diagnostics: diagnostics, positions: positions)
    // The context holds the only copy while it adds to it.
    positions = ElementPositions()
    return (context, parsed.root)
  }

  /// The files that cdgen reads, in order of kind and number; others are reported where they look like a slip.
  private static func classify(
    _ files: [String: [UInt8]], folder: String, diagnostics: DiagnosticCollector
  ) -> [ModelFile] {
    var result: [ModelFile] = []
    for name in files.keys.sorted() {
      let path = folder.isEmpty ? name : folder.hasSuffix("/") ? folder + name : folder + "/" + name
      guard let kind = ModelFile.Kind(fileName: name) else {
        diagnostics.error(
          SourceLocation(path: path, line: 1, column: 1), FileNameAdvice.message(for: name))
        continue
      }
      if kind == .other { continue }
      result.append(ModelFile(kind: kind, name: name, path: path, bytes: files[name] ?? []))
    }
    return result
  }
}

/// What is wrong with the name of a YAML file in a model's folder.
enum FileNameAdvice {
  static func message(for name: String) -> String {
    let rule =
      "a model's folder holds model.yaml, versions named 1.yaml, 2.yaml, … and mappings "
      + "named 1-2.mapping.yaml"
    let stem = name.hasSuffix(".yaml") ? name.dropLast(5) : name.dropLast(4)
    if name.hasSuffix(".yml") { return "the file's name must end in .yaml; \(rule)" }
    if let number = Int(stem) {
      if number == 0 { return "versions are numbered from 1; \(rule)" }
      if number > 0, number <= VersionFile.highestNumber {
        return "'\(name)' is no version's name; did you mean '\(number).yaml'?"
      }
      return "a version's number is from 1 to \(VersionFile.highestNumber); \(rule)"
    }
    return "'\(name)' is no name for a file here; \(rule)"
  }
}
