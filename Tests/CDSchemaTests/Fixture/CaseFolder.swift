import CDModel
import CDSchema
import Foundation
import Testing

/// A folder under `Cases`: the files of a model, and in `diagnostics.txt` everything that loading it says.
struct CaseFolder: CustomTestStringConvertible, Sendable {
  var url: URL
  var name: String { url.lastPathComponent }
  var testDescription: String { name }

  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Cases")

  /// All cases, in order of their names.
  static let all: [CaseFolder] = {
    let contents = try? FileManager.default.contentsOfDirectory(at: root, includingPropertiesForKeys: nil)
    return (contents ?? []).filter(\.hasDirectoryPath).sorted { $0.path < $1.path }.map(CaseFolder.init)
  }()

  /// Whether expected texts are written in place of being compared.
  static let records = ProcessInfo.processInfo.environment["CDGEN_RECORD"] == "1"

  /// The model's files, without what is expected of them.
  ///
  /// `locked.txt` names versions that are to be locked: the lock is made of them as they are, so that no case
  /// has digests that a change of the rules for hashes would spoil.
  func files() throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: url.path)
    where !["diagnostics.txt", "model.json", "plan.txt", "locked.txt", "targets.txt"].contains(name) {
      files[name] = [UInt8](try Data(contentsOf: url.appending(path: name)))
    }
    if let numbers = expected("locked.txt")?.split(whereSeparator: \.isWhitespace).compactMap({ Int($0) }) {
      // Whatever is wrong with the mappings, the versions can be read without them.
      let versions = files.filter { !$0.key.hasSuffix(".mapping.yaml") }
      let model = ModelLoader.load(name: "Case", files: versions).unprovenModel
      let locked = numbers.compactMap { model?.version($0) }.map { LockedVersion($0) }
      files[LockText.fileName] = Array(LockText.text(of: locked).utf8)
    }
    return files
  }

  /// Loads the case as a model called `Case`, with paths that are the files' names.
  func load() throws -> LoadedModel {
    ModelLoader.load(name: "Case", files: try files())
  }

  /// What a file of the case holds; nil where there is none.
  func expected(_ file: String) -> String? {
    try? String(contentsOf: url.appending(path: file), encoding: .utf8)
  }

  func record(_ text: String, as file: String) throws {
    try text.write(to: url.appending(path: file), atomically: true, encoding: .utf8)
  }
}

extension [Diagnostic] {
  /// One a line, as `cdgen check` prints them.
  var text: String { map { $0.description + "\n" }.joined() }
}

/// Loads a model of one version from text.
func load(version: String, id: String = "id: 5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11\n") -> LoadedModel {
  ModelLoader.load(name: "Case", files: ["model.yaml": Array(id.utf8), "1.yaml": Array(version.utf8)])
}
