import CDConsole
import CDModel
import CDSchema

/// The text of a new version that starts as a copy of the current one.
struct NextVersion {
  var number: Int
  /// The version that is copied.
  var basedOn: Int

  /// Returns the copied text without the parts that only concern the copied version.
  ///
  /// - Throws: ``Failure`` if the text cannot be copied automatically. A person must then do it.
  func text(from loaded: LoadedModel) throws -> String {
    guard let source = loaded.files.first(where: { $0.kind == .version(basedOn) }) else {
      throw Failure(loaded.files.first?.path, "version \(basedOn) has no file")
    }
    let copy = VersionFile.removingRenames(from: String(decoding: source.bytes, as: UTF8.self))
    var text = Self.removingBlocks(["basedOn", "label"], from: copy)
    // By default, a version follows the one with the number before.
    if basedOn != number - 1 { text = "basedOn: [\(basedOn)]\n" + text }
    try verify(text, in: loaded, path: source.path)
    return text
  }

  /// Removes top-level keys together with their lines.
  private static func removingBlocks(_ keys: [String], from text: String) -> String {
    var isLeftOut = false
    var result = ""
    var rest = text[...]
    while !rest.isEmpty {
      // The end of a line of Windows is one Character.
      let end = rest.firstIndex { $0 == "\n" || $0 == "\r\n" }.map(rest.index(after:)) ?? rest.endIndex
      let line = rest[..<end]
      rest = rest[end...]
      let isNewBlock = line.first.map { !$0.isWhitespace && $0 != "#" && $0 != "-" } ?? false
      if isNewBlock { isLeftOut = keys.contains { line.hasPrefix("\($0):") } }
      let isComment = line.first.map { $0 == "#" || $0.isNewline } ?? true
      if !isLeftOut || isComment { result += line }
    }
    return result
  }

  /// Loads the model with the new text in memory, so that no invalid text is written.
  private func verify(_ text: String, in loaded: LoadedModel, path: String) throws {
    var files: [String: [UInt8]] = [:]
    for file in loaded.files { files[file.name] = file.bytes }
    files[VersionFile.name(of: number)] = Array(text.utf8)
    let name = loaded.model?.name ?? ""
    let copy = ModelLoader.load(name: name, files: files).model?.version(number)
    guard let copy, copy.basedOn == [basedOn], copy.label == nil, !copy.hasRenames else {
      throw Failure(
        path,
        "this file cannot be copied automatically in its present form; copy it to \(VersionFile.name(of: number)) "
          + "by hand, "
          + "without its 'label' and 'renamedFrom's, and with 'basedOn: [\(basedOn)]'")
    }
  }
}

extension ModelVersion {
  /// Whether any element has a `renamedFrom`. In a copy it could repeat a swap of two elements.
  fileprivate var hasRenames: Bool {
    composites.contains { composite in composite.fields.contains { $0.renamedFrom != nil } }
      || entities.contains { entity in
        entity.renamedFrom != nil || entity.attributes.contains { $0.renamedFrom != nil }
          || entity.relationships.contains { $0.renamedFrom != nil }
      }
  }
}
