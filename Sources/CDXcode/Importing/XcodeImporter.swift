public import CDModel
public import CDSchema

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The result of importing an Xcode model.
public struct XcodeImport: Sendable {
  /// The model; nil if a mistake prevented the import.
  public var model: ManagedObjectModel?
  /// The files of the model's folder by name.
  public var files: [String: String]
  /// All mistakes, and everything that could not be imported unchanged.
  public var diagnostics: [Diagnostic]

  /// The name of the model's folder: the model's name with `.cdmodel`.
  public var folderName: String { (model?.name ?? "Model") + ".cdmodel" }
}

/// Creates a model from an Xcode model, with all its versions.
///
/// ```swift
/// let bundle = try XcodeBundle(contentsOf: "App/Library.xcdatamodeld")
/// let result = XcodeImporter(bundle).run(id: UUID())
/// for (name, text) in result.files { print(name, text.utf8.count) }
/// ```
public struct XcodeImporter: Sendable {
  /// The bundle.
  public var bundle: XcodeBundle
  /// The versions' names from oldest to newest, one per line; nil to derive the order from the numbers in the names.
  public var order: String?
  /// The path of ``order``, for messages.
  public var orderPath: String
  /// The mapping models for the bundle.
  public var mappings: [XcodeMappingFile]
  /// The options of the import.
  public var options: XcodeImportOptions

  /// Creates an import.
  public init(
    _ bundle: XcodeBundle, order: String? = nil, orderPath: String = "", mappings: [XcodeMappingFile] = [],
    options: XcodeImportOptions = XcodeImportOptions()
  ) {
    self.bundle = bundle
    self.order = order
    self.orderPath = orderPath
    self.mappings = mappings
    self.options = options
  }

  /// Imports the bundle.
  ///
  /// - Parameter id: The new model's identity. Each model needs a new one.
  public func run(id: UUID) -> XcodeImport {
    var diagnostics: [Diagnostic] = []
    guard let entries = order(&diagnostics) else { return XcodeImport(files: [:], diagnostics: diagnostics) }
    var roots: [String: MarkupElement] = [:]
    for version in bundle.versions where entries.contains(where: { $0.name == version.name }) {
      do {
        let root = try MarkupReader.read(version.contents)
        guard root.name == "model" else {
          diagnostics.append(
            Diagnostic(
              .error, at: SourceLocation(path: version.path, line: root.line, column: root.column),
              "this is not a data model: its root is '\(root.name)' and not 'model'"))
          continue
        }
        if let excess = ModelLimits.excess(in: root) {
          diagnostics.append(
            Diagnostic(.error, at: SourceLocation(path: version.path, line: 1, column: 1), excess))
          continue
        }
        roots[version.name] = root
      } catch {
        diagnostics.append(
          Diagnostic(
            .error, at: SourceLocation(path: version.path, line: error.line, column: error.column),
            error.message))
      }
    }
    if diagnostics.containsErrors { return XcodeImport(files: [:], diagnostics: diagnostics.sorted()) }
    var history = HistoryImporter(
      entries: entries, roots: roots, modelName: Self.modelName(bundle.name), options: options)
    history.read()
    diagnostics += remarks(of: history)
    diagnostics += orderDoubts(history.versions.map(\.version))
    var model = ManagedObjectModel(
      name: Self.modelName(bundle.name), id: id, versions: history.versions.map(\.version),
      currentVersionNumber: currentNumber(entries, &diagnostics))
    let translated = MappingImporter(model: model, bundleName: bundle.name).rules(of: mappings)
    diagnostics += translated.diagnostics
    let steps = HistoryMappings(
      model: model, rules: translated.rules, notes: translated.notes,
      confirmsLosses: options.confirmsLosses)
    model.mappings = steps.rules
    return XcodeImport(
      model: model, files: files(of: model, steps), diagnostics: diagnostics.sorted())
  }

  // MARK: Versions

  private func order(_ diagnostics: inout [Diagnostic]) -> [VersionOrder.Entry]? {
    let names = bundle.versions.map(\.name)
    if let order {
      let entries = VersionOrder(text: order).entries
      return check(entries, names, &diagnostics) ? entries : nil
    }
    let place = SourceLocation(path: bundle.path, line: 1, column: 1)
    if !checkUnread(at: place, &diagnostics) { return nil }
    if let entries = VersionOrder(numbersIn: names, bundle: bundle.name)?.entries { return entries }
    diagnostics.append(
      Diagnostic(
        .error, at: place,
        "the names of the versions do not tell their order; write them into a file, the oldest first, and name it with "
          + "--order:\n" + names.map { "  " + $0 }.joined(separator: "\n")))
    return nil
  }

  /// Reports versions that cannot be read. They are left out if there are other versions, unless one of them is the
  /// current version.
  private func checkUnread(at place: SourceLocation, _ diagnostics: inout [Diagnostic]) -> Bool {
    let kinds = [
      (
        bundle.binaryNames, "is in the binary form of Xcode 3 ('elements'), which is not read",
        "save it with a newer Xcode"
      ),
      (bundle.emptyNames, "has no file 'contents', which would be its model", "put the file back"),
    ]
    for (names, problem, remedy) in kinds {
      for name in names {
        let isOld = !bundle.versions.isEmpty && name != bundle.currentName
        diagnostics.append(
          Diagnostic(
            isOld ? .warning : .error, at: place,
            "version '\(name)' \(problem)"
              + (isOld
                ? ". It is left out, so that stores of it cannot be migrated: \(remedy) to have it too"
                : ": \(remedy), or leave it out by naming the others in an --order file")))
      }
    }
    return !diagnostics.containsErrors
  }

  private func check(
    _ entries: [VersionOrder.Entry], _ names: [String], _ diagnostics: inout [Diagnostic]
  ) -> Bool {
    let place = SourceLocation(path: orderPath, line: 1, column: 1)
    var seen: Set<String> = []
    func report(_ message: String, suggestion: String? = nil) {
      diagnostics.append(Diagnostic(.error, at: place, message, suggestion: suggestion))
    }
    for entry in entries {
      if bundle.binaryNames.contains(entry.name) {
        report("version '\(entry.name)' is in the binary form of Xcode 3 ('elements'), which is not read")
      } else if bundle.emptyNames.contains(entry.name) {
        report("version '\(entry.name)' has no file 'contents', which would be its model")
      } else if !names.contains(entry.name) {
        report(
          "the bundle has no version '\(entry.name)'", suggestion: closestName(to: entry.name, in: names))
      }
      for base in entry.bases ?? [] where !seen.contains(base) {
        report("'\(entry.name)' is based on '\(base)', which does not stand before it")
      }
      if !seen.insert(entry.name).inserted { report("version '\(entry.name)' is repeated here") }
    }
    if entries.isEmpty { report("the file names no version") }
    for name in names + bundle.binaryNames + bundle.emptyNames where !seen.contains(name) {
      diagnostics.append(
        Diagnostic(.warning, at: place, "version '\(name)' of the bundle is not in the order and is left out")
      )
    }
    return !diagnostics.containsErrors
  }

  /// The number of the version from which Xcode generates classes.
  private func currentNumber(_ entries: [VersionOrder.Entry], _ diagnostics: inout [Diagnostic]) -> Int {
    guard let name = bundle.currentName else { return entries.count }
    if let place = entries.firstIndex(where: { $0.name == name }) { return place + 1 }
    diagnostics.append(
      Diagnostic(
        .warning, at: SourceLocation(path: bundle.path, line: 1, column: 1),
        "the current version '\(name)' is not imported; the last imported version becomes the current one"))
    return entries.count
  }

  /// Derives the model's name from the bundle's name: invalid characters are removed, and the character after them
  /// becomes a capital.
  private static func modelName(_ name: String) -> String {
    var result = ""
    var isStart = false
    for scalar in name.unicodeScalars {
      guard scalar.properties.isXIDContinue, scalar != "_" || !result.isEmpty else {
        isStart = !result.isEmpty
        continue
      }
      result += isStart ? String(scalar).uppercased() : String(scalar)
      isStart = false
    }
    if NameRules.problem(with: result) != nil { result = "Model" + result }
    return NameRules.problem(with: result) == nil ? result : "Model"
  }

  // MARK: Remarks

  private func orderDoubts(_ versions: [ModelVersion]) -> [Diagnostic] {
    SuspectVersionOrder.all(in: versions).map { suspect in
      Diagnostic(
        .warning, at: SourceLocation(path: order == nil ? bundle.path : orderPath, line: 1, column: 1),
        suspect.message)
    }
  }

  /// Joins remarks that are the same for several versions into one, at the last of these versions.
  private func remarks(of history: HistoryImporter) -> [Diagnostic] {
    struct Key: Hashable {
      var subject: String
      var message: String
    }
    var places: [Key: (SourceLocation, Int)] = [:]
    for version in history.versions {
      let path = bundle.versions.first { $0.name == version.version.label }?.path ?? bundle.path
      var seen: Set<Key> = []
      for remark in version.remarks {
        let key = Key(subject: remark.subject, message: remark.message)
        guard seen.insert(key).inserted else { continue }
        let count = places[key]?.1 ?? 0
        places[key] = (SourceLocation(path: path, line: remark.line, column: remark.column), count + 1)
      }
    }
    return places.map { key, value in
      let others = value.1 > 1 ? " (in \(value.1) versions)" : ""
      return Diagnostic(.warning, at: value.0, "\(key.subject): \(key.message)\(others)")
    }
  }

  // MARK: Files

  private func files(of model: ManagedObjectModel, _ steps: HistoryMappings) -> [String: String] {
    let highest = model.versions.last?.number ?? 1
    var result: [String: String] = [
      "model.yaml": ModelTemplate.modelFile(
        name: model.name, id: model.id,
        current: model.currentVersionNumber == highest ? nil : model.currentVersionNumber)
    ]
    for version in model.versions {
      let head = version.label.map { "Imported from version '\($0)' of Xcode's model \(bundle.name)." }
      result[VersionFile.name(of: version.number)] = VersionText(version, head: head).text
    }
    for (name, text) in steps.files { result[name] = text }
    return result
  }
}
