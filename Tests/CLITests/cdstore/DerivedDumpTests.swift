import CDModel
import CDRuntime
import CDSchema
import Foundation
import Testing

/// Dumps with derived values that cannot be computed again from the dump.
@Suite struct DerivedDumpTests: StoreCommands {
  let folder: TemporaryFolder
  private let model: ManagedObjectModel

  init() throws {
    folder = try TemporaryFolder()
    try SampleModel.make(
      "Diary", in: folder,
      version: """
        configurations: { People: [Person], Notes: [Note] }
        entities:
          Person:
            attributes:
              name: String
              upper: { type: String, derived: "uppercase:(name)" }
              noteCount: { type: Int64, derived: notes.@count }
              changed: { type: Date, derived: now() }
            relationships: { notes: { to: [Note], inverse: author } }
          Note:
            attributes:
              text: String
              authorName: { type: String?, derived: author.name }
            relationships: { author: { to: "Person?", inverse: notes } }

        """)
    let loaded = ModelLoader.load(folder: folder.url.appending(path: "Diary.cdmodel").path)
    model = try #require(loaded.model, "\(loaded.diagnostics)")
  }

  /// A context over both stores.
  private func context(people: String = "people", notes: String = "notes") throws -> ManagedObjectContext {
    let stores = [(people, "People"), (notes, "Notes")].map { name, configuration in
      PersistentStoreDescription(.sqlite(folder.url.appending(path: name)), configuration: configuration)
    }
    return PersistentContainer(try PersistentStoreCoordinator(model: model, stores: stores)).newContext()
  }

  /// A person with two notes.
  private func fill() throws {
    let context = try context()
    let person = try context.insert(entityNamed: "Person")
    try person.setValue("Ada", forKey: "name")
    for text in ["a", "b"] {
      let note = try context.insert(entityNamed: "Note")
      try note.setValue(text, forKey: "text")
      try note.setValue(person, forKey: "author")
    }
    try context.save()
  }

  /// The time of a save is not that of the load, and the objects of the other store cannot be read.
  @Test(arguments: ["sqlite", "xml"])
  func whatCannotBeComputedAgainComesBack(type: String) throws {
    try fill()
    let people = try succeed("dump", "people")
    #expect(people.contains(#""noteCount":2"#) && people.contains(#""changed":{"$referenceDate":"#))
    #expect(!people.contains(#""upper""#))
    let notes = try run("dump", "notes")
    #expect(notes.status == 0 && notes.output.contains(#""authorName":"Ada""#), "\(notes)")

    _ = try succeed("load", "people2", "-", "--type", type, input: people)
    #expect(try succeed("dump", "people2") == people)
    let loaded = try run("load", "notes2", "-", "--type", type, input: notes.output)
    #expect(loaded.status == 0 && loaded.output == "Note: 2\n", "\(loaded)")
    #expect(try run("dump", "notes2") == notes)
    let count = try succeed(
      "fetch", "people2", "Person", "--where", "upper == 'ADA' AND noteCount == 2", "--count")
    #expect(count == "1\n")
    if type != "sqlite" { return }
    let both = try context(people: "people2", notes: "notes2")
    #expect(try both.persistentStoreCoordinator.verify().isEmpty)
  }

  @Test func aRowMayGiveSuchAValue() throws {
    try fill()
    let rows = #"""
      {"@entity": "Person", "name": "x", "upper": "Y", "changed": {"$referenceDate": 0.5}, "noteCount": 7}
      {"@entity": "Person", "name": "z"}
      """#
    try succeed("load", "people", "-", input: rows)
    let dump = try succeed("dump", "people").split(separator: "\n").map(String.init)
    let given = try #require(dump.first { $0.contains(#""name":"x""#) })
    #expect(given.contains(#""changed":{"$referenceDate":0.5}"#) && given.contains(#""noteCount":7"#))
    let other = try #require(dump.first { $0.contains(#""name":"z""#) })
    #expect(!other.contains(#""$referenceDate":0.5"#) && other.contains(#""noteCount":0"#))
    #expect(try succeed("fetch", "people", "Person", "--where", "upper == 'X'", "--count") == "1\n")
    let result = try run(
      "load", "people", "-", input: #"{"@entity": "Person", "name": "x", "changed": "never"}"#)
    #expect(result.status == 1 && result.errors.contains("line 1, changed: "), "\(result)")
  }
}
