import CDModel
import CDSchema
import Foundation
import Testing

@Suite("Loading from disk")
struct ModelLoaderTests {
  private static let schemas = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Schemas")

  @Test("the example models load without a word", arguments: ["ToDo", "Library", "Music"])
  func examples(_ name: String) throws {
    let path = Self.schemas.appending(path: "\(name).cdmodel").path
    let loaded = ModelLoader.load(folder: path)
    #expect(loaded.diagnostics == [])
    let model = try #require(loaded.model)
    #expect(model.name == name)
    #expect(model.currentVersionNumber == (name == "ToDo" ? 2 : 1))
    #expect(ModelLoader.load(folder: path + "/").model == model)
  }

  @Test("a folder's model is that of the same files in memory")
  func memory() throws {
    let folder = Self.schemas.appending(path: "ToDo.cdmodel")
    var files: [String: [UInt8]] = [:]
    for name in ["model.yaml", "1.yaml", "2.yaml", "versions.lock"] {
      files[name] = [UInt8](try Data(contentsOf: folder.appending(path: name)))
    }
    #expect(ModelLoader.load(name: "ToDo", files: files).model == ModelLoader.load(folder: folder.path).model)
  }

  /// A new folder that goes when the body has run.
  private func withFolder(_ name: String, _ body: (URL) throws -> Void) throws {
    let parent = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    let folder = parent.appending(path: name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: parent) }
    try body(folder)
  }

  private func text(_ folder: URL) -> String {
    let parent = folder.deletingLastPathComponent().path
    return ModelLoader.load(folder: folder.path).diagnostics.text.replacingOccurrences(of: parent, with: "")
  }

  @Test func noFolder() throws {
    try withFolder("A.cdmodel") { folder in
      try Data().write(to: folder.appending(path: "file.cdmodel"))
      #expect(
        text(folder.appending(path: "B.cdmodel"))
          == "/B.cdmodel:1:1: error: there is no such folder; a model is a folder named NAME.cdmodel\n")
      #expect(
        text(folder.appending(path: "file.cdmodel"))
          == "/file.cdmodel:1:1: error: this is a file; a model is a folder named NAME.cdmodel\n")
    }
  }

  @Test func wrongNames() throws {
    try withFolder("Model") { folder in
      #expect(
        text(folder)
          == "/Model:1:1: error: a model is a folder named NAME.cdmodel, and this is 'Model'\n")
    }
    try withFolder("My Model.cdmodel") { folder in
      #expect(
        text(folder) == """
          /My Model.cdmodel:1:1: error: the folder has no model.yaml, which holds the model's 'id' \
          ('cdgen init' makes one)
          /My Model.cdmodel:1:1: error: the folder's name is the model's: 'My Model' is not a valid name: \
          a name is a letter and then letters, digits and underscores
          /My Model.cdmodel:1:1: error: the model has no versions; the first one's file is 1.yaml

          """)
    }
  }

  @Test func unreadableFiles() throws {
    try withFolder("A.cdmodel") { folder in
      let manager = FileManager.default
      try Data("id: 5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11\n".utf8).write(
        to: folder.appending(path: "model.yaml"))
      try manager.createDirectory(at: folder.appending(path: "1.yaml"), withIntermediateDirectories: false)
      try manager.createSymbolicLink(
        at: folder.appending(path: "2.yaml"), withDestinationURL: folder.appending(path: "nowhere"))
      try Data(repeating: 0x23, count: 9_000_000).write(to: folder.appending(path: "3.yaml"))
      // Things that are not cdgen's are left alone, whatever they are.
      try manager.createDirectory(at: folder.appending(path: "notes"), withIntermediateDirectories: false)
      #expect(
        text(folder) == """
          /A.cdmodel/1.yaml:1:1: error: this is not a regular file
          /A.cdmodel/2.yaml:1:1: error: the link leads to a file that does not exist
          /A.cdmodel/3.yaml:1:1: error: the file has 9000000 bytes; a model's file may have 8388608 at most

          """)
    }
  }

  @Test("links are followed")
  func links() throws {
    try withFolder("A.cdmodel") { folder in
      let other = folder.deletingLastPathComponent()
      try Data("id: 5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11\n".utf8).write(to: other.appending(path: "m"))
      try Data("entities: { Book: { attributes: { a: String } } }\n".utf8).write(
        to: other.appending(path: "v"))
      for (name, target) in [("model.yaml", "m"), ("1.yaml", "v")] {
        try FileManager.default.createSymbolicLink(
          at: folder.appending(path: name), withDestinationURL: other.appending(path: target))
      }
      let link = other.appending(path: "B.cdmodel")
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder)
      let loaded = ModelLoader.load(folder: link.path)
      #expect(loaded.diagnostics == [])
      #expect(loaded.model?.name == "B")
      #expect(loaded.files.map(\.kind) == [.version(1), .model])
    }
  }
}
