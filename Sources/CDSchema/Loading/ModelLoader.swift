import CDModel

/// Reads a model from the files of its `NAME.cdmodel` folder, checks it, and reports every mistake with its position.
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
  ///   - name: The model's name, which is the folder's name without `.cdmodel`.
  ///   - files: The folder's files by name.
  ///   - folder: The folder's path for messages; empty to show only the files' names.
  public static func load(name: String, files: [String: [UInt8]], folder: String = "") -> LoadedModel {
    load(name: name, files: files, folder: folder, diagnostics: DiagnosticCollector())
  }

  /// - Parameter names: Files that exist but could not be read, which is already reported.
  static func load(
    name: String, files: [String: [UInt8]], unreadable names: [String] = [], folder: String,
    diagnostics: DiagnosticCollector
  ) -> LoadedModel {
    SuggestionBudget.run {
      loadAll(name: name, files: files, unreadable: names, folder: folder, diagnostics: diagnostics)
    }
  }

  private static func loadAll(
    name: String, files: [String: [UInt8]], unreadable names: [String], folder: String,
    diagnostics: DiagnosticCollector
  ) -> LoadedModel {
    let folderPlace = SourceLocation(path: folder.isEmpty ? name + ".cdmodel" : folder, line: 1, column: 1)
    // Some file systems change the Unicode form of a folder's name. No table has the name.
    if let problem = NameRules.problem(with: NameRules.composed(name)) {
      diagnostics.error(folderPlace, "the folder's name is the model's: \(problem)")
    }
    let modelFiles = classify(files, folder: folder, diagnostics: diagnostics)
    var reading = ModelReading(unreadable: Set(names.compactMap(VersionFile.number)))
    for file in modelFiles { reading.read(file, diagnostics) }
    if !modelFiles.contains(where: { $0.kind == .model }), !names.contains("model.yaml") {
      diagnostics.error(
        folderPlace, "the folder has no model.yaml, which holds the model's 'id' ('cdgen init' makes one)")
    }
    if reading.versions.isEmpty && reading.unreadable.isEmpty {
      diagnostics.error(folderPlace, "the model has no versions; the first one's file is 1.yaml")
    }
    return check(reading, name: name, files: modelFiles, diagnostics: diagnostics)
  }

  /// Performs the checks that need several files.
  private static func check(
    _ reading: ModelReading, name: String, files: [ModelFile], diagnostics: DiagnosticCollector
  ) -> LoadedModel {
    let checked = ModelValidator(
      name: name, head: reading.head, versions: reading.versions, unreadable: reading.unreadable,
      locked: Set(reading.locks.map(\.version.number)), positions: reading.positions,
      diagnostics: diagnostics
    ).validate()
    let mappings = reading.mappings
    let steps = StepChecks(
      versions: checked.versions, files: files, positions: reading.positions, diagnostics: diagnostics)
    steps.checkNumbers(of: mappings.map(\.rules))
    var unproven: ManagedObjectModel?
    if steps.areVersionsRight, let id = reading.head?.id, let current = checked.current {
      unproven = ManagedObjectModel(
        name: name, id: id, imports: reading.head?.imports ?? [], versions: checked.versions,
        currentVersionNumber: current, mappings: mappings.map(\.rules),
        lockedVersionNumbers: Set(reading.locks.map(\.version.number)))
    }
    let (locked, changed) = steps.checkLocks(reading.locks, unreadable: reading.unreadable)
    ShadowedViewTypes.report(
      checked.versions, locked: locked, positions: reading.positions, diagnostics: diagnostics)
    if let unproven {
      steps.prove(
        unproven, locked: locked, changed: changed,
        broken: Set(mappings.filter(\.isBroken).map { $0.rules.stepName }))
    }
    return LoadedModel(
      model: diagnostics.containsErrors ? nil : unproven,
      unprovenModel: mappings.contains(where: \.isBroken) ? nil : unproven,
      lockedVersions: reading.locks.map(\.version).sorted { $0.number < $1.number },
      diagnostics: RepeatedWarnings.joined(
        diagnostics.sorted,
        versions: Dictionary(
          files.compactMap { file in
            if case .version(let number) = file.kind { (file.path, number) } else { nil }
          }, uniquingKeysWith: { first, _ in first })), files: files, positions: reading.positions,
      access: reading.head?.access, listsKeyPaths: reading.head?.listsKeyPaths ?? false,
      isObservable: reading.head?.isObservable ?? false,
      hasSnapshots: reading.head?.hasSnapshots ?? false,
      nestsSnapshots: reading.head?.nestsSnapshots ?? false)
  }

  /// Returns the files that cdgen reads, ordered by purpose and number. Reports other files whose names look like
  /// mistakes.
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

/// Describes what is wrong with the name of a YAML file in a model's folder.
private enum FileNameAdvice {
  static func message(for name: String) -> String {
    let rule =
      "a model's folder holds model.yaml, versions named 1.yaml, 2.yaml, … and mappings "
      + "named 1-2.mapping.yaml"
    let stem = name.hasSuffix(".yaml") ? name.dropLast(5) : name.dropLast(4)
    if name.hasSuffix(".yml") { return "the file's name must end in .yaml; \(rule)" }
    if let number = Int(stem) {
      if number == 0 { return "versions are numbered from 1; \(rule)" }
      if number > 0, number <= VersionFile.highestNumber {
        return "'\(name)' is not the name of a version; did you mean '\(number).yaml'?"
      }
      return "a version's number is from 1 to \(VersionFile.highestNumber); \(rule)"
    }
    return "'\(name)' is not a valid file name in a model; \(rule)"
  }
}
