import CDGenerator
import CDSchema
import Foundation
import Testing

/// A folder of `Cases`: a model, options in `options.txt` where they are not the usual ones, and in `Expected`
/// the Swift that comes of it.
struct ReferenceCase: CustomTestStringConvertible, Sendable {
  let name: String
  let options: Generator.Options

  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Cases")

  /// Whether expected files are written in place of being compared.
  static let records = ProcessInfo.processInfo.environment["CDGEN_RECORD"] == "1"

  static let all: [ReferenceCase] = {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.sorted().filter { !$0.hasPrefix(".") }.map(ReferenceCase.init)
  }()

  init(name: String) {
    self.name = name
    let text = try? String(contentsOf: Self.folder.appending(path: "\(name)/options.txt"), encoding: .utf8)
    let words = Set((text ?? "public").split(whereSeparator: \.isWhitespace).map(String.init))
    options = Generator.Options(
      access: AccessLevel.allCases.first { words.contains($0.rawValue) } ?? .public,
      perEntity: words.contains("perEntity"))
  }

  var testDescription: String { name }

  private var expectedFolder: URL { Self.folder.appending(path: "\(name)/Expected") }

  /// The Swift that `cdgen generate` makes of the case's model, by its own options or by others.
  func generate(_ options: Generator.Options? = nil) throws -> [GeneratedFile] {
    let loaded = ModelLoader.load(folder: Self.folder.appending(path: "\(name)/\(name).cdmodel").path)
    let model = try #require(loaded.model, "\(loaded.diagnostics)")
    var options = options ?? self.options
    options.warnsOfUnlockedVersion = !loaded.locksCurrentVersion
    options.keyPaths = loaded.listsKeyPaths
    options.observable = loaded.isObservable
    options.snapshots = options.snapshots || loaded.hasSnapshots
    options.nestedSnapshots = loaded.nestsSnapshots
    return try Generator(options: options).generate(model)
  }

  /// The names and contents of the expected files.
  func expected() throws -> [String: String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: expectedFolder.path)) ?? []
    return Dictionary(
      uniqueKeysWithValues: try names.map {
        ($0, try String(contentsOf: expectedFolder.appending(path: $0), encoding: .utf8))
      })
  }

  /// The expected files, for a compiler.
  var expectedFiles: [URL] {
    get throws {
      try expected().keys.sorted().map { expectedFolder.appending(path: $0) }
    }
  }

  func record(_ files: [GeneratedFile]) throws {
    try? FileManager.default.removeItem(at: expectedFolder)
    try FileManager.default.createDirectory(at: expectedFolder, withIntermediateDirectories: true)
    for file in files {
      try file.contents.write(
        to: expectedFolder.appending(path: file.name), atomically: true, encoding: .utf8)
    }
  }
}
