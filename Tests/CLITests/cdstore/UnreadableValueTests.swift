import CSQLite
import Foundation
import Testing

/// What `cdstore` prints of a store from which not everything can be read.
@Suite struct UnreadableValueTests: StoreCommands {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try SampleModel.make(
      "Notes", in: folder,
      version: """
        entities:
          Item: { abstract: true, attributes: { text: String } }
          Note: { parent: Item, attributes: { pages: Int32, cover: { type: Data?, external: true } } }

        """)
    try succeed("create", "n.sqlite", "--model", "Notes.cdmodel")
    // The value is large enough for a file of its own.
    let cover = String(repeating: "A", count: 100_000)
    try succeed(
      "load", "n.sqlite", "-",
      input: #"{"@entity": "Note", "@id": 1, "text": "tea", "pages": 3, "cover": {"$data": "\#(cover)"}}"#)
  }

  private func change(_ sql: String) throws {
    var handle: OpaquePointer?
    defer { sqlite3_close(handle) }
    try #require(sqlite3_open(folder.url.appending(path: "n.sqlite").path, &handle) == SQLITE_OK)
    try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
  }

  private func expectNoDump(_ text: String) throws {
    let dump = try run("dump", "n.sqlite")
    #expect(dump.status == 1 && dump.errors.contains(text), "\(dump.errors)")
    #expect(dump.output.hasPrefix(#"{"@store":"#))
    #expect(!dump.output.contains("@id") && !dump.output.contains("@end"))
  }

  @Test(arguments: ["pages", "cover"]) func noValueIsMadeUp(_ property: String) throws {
    if property == "cover" {
      try folder.remove("n.sqlite-external")
    } else {
      try change("UPDATE Item SET pages = 99999999999")
    }
    try expectNoDump("Note/p1: 'Note.\(property)'")
    let fetch = try run("fetch", "n.sqlite", "Note", "--format", "json")
    #expect(fetch.output.contains(#""text":"tea""#))
    #expect(fetch.status == 1 && fetch.errors.contains("Note/p1: 'Note.\(property)'"), "\(fetch.errors)")
    let batch = try run("fetch", "n.sqlite", "--batch", input: #"{"entity": "Note", "rows": true}"#)
    #expect(batch.output.contains(#""text":"tea""#))
    #expect(batch.status == 1 && batch.errors.contains("Note/p1: 'Note.\(property)'"), "\(batch.errors)")
  }

  @Test(arguments: ["Item", "Scroll"]) func noRowIsLeftOut(_ entity: String) throws {
    try change("UPDATE Item SET _entity = '\(entity)'")
    try expectNoDump("1 row has an entity that is unknown to the model or abstract")
  }

  @Test func noRowWithAnUnusableKeyIsLeftOut() throws {
    try change("INSERT INTO Item (_pk, _version, _entity, text, pages) VALUES (-1, 1, 'Note', 'x', 1)")
    let dump = try run("dump", "n.sqlite")
    #expect(dump.status == 1 && dump.errors.contains("1 row has a key below 1"), "\(dump.errors)")
    #expect(!dump.output.contains("@end"))
  }
}
