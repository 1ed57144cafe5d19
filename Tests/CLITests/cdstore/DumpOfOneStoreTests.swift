import CDModel
import CDRuntime
import CDSchema
import Foundation
import Testing

/// Dumps of stores that are parts of a model: relationships lead from one store to another.
@Suite struct DumpOfOneStoreTests: StoreCommands {
  let folder: TemporaryFolder
  private let model: ManagedObjectModel

  private static let version = """
    configurations: { People: [Person], Notes: [Note, Memo] }
    entities:
      Person:
        attributes: { name: String }
        relationships:
          notes: { to: [Note], inverse: author, ordered: true }
          marks: { to: [Note], inverse: markedBy, ordered: true }
          likes: { to: [Note], inverse: likedBy }
          desk: { to: "Note?", inverse: keeper }
      Guest: { parent: Person }
      Note:
        attributes: { text: String }
        relationships:
          author: { to: Person, inverse: notes }
          reviewer: { to: "Person?", inverse: none }
          markedBy: { to: [Person], inverse: marks, ordered: true, count: 0...3 }
          seenBy: { to: [Person], inverse: none }
          likedBy: { to: [Person], inverse: likes }
          keeper: { to: "Person?", inverse: desk }
          answers: { to: [Note], inverse: question }
          question: { to: "Note?", inverse: answers }
      Memo: { parent: Note }

    """

  init() throws {
    folder = try TemporaryFolder()
    try SampleModel.make("Diary", in: folder, version: Self.version)
    let loaded = ModelLoader.load(folder: folder.url.appending(path: "Diary.cdmodel").path)
    model = try #require(loaded.model, "\(loaded.diagnostics)")
  }

  /// A context over both stores.
  private func context(people: String = "people", notes: String = "notes") throws -> ManagedObjectContext {
    let stores = [(people, "People"), (notes, "Notes")].map { name, configuration in
      PersistentStoreDescription(
        .sqlite(folder.url.appending(path: name)), configuration: configuration)
    }
    return PersistentContainer(try PersistentStoreCoordinator(model: model, stores: stores)).newContext()
  }

  /// Three people, of whom one is a guest, and four notes with relationships of every sort to them.
  private func fill() throws {
    let context = try context()
    func insert(_ entity: String, _ values: [String: any Sendable]) throws -> ManagedObject {
      let object = try context.insert(entityNamed: entity)
      for (key, value) in values { try object.setValue(value as? String, forKey: key) }
      return object
    }
    let people = [
      try insert("Person", ["name": "Ada"]), try insert("Guest", ["name": "Bob"]),
      try insert("Person", ["name": "Cy"]),
    ]
    let notes = try (0..<4).map { try insert($0 == 3 ? "Memo" : "Note", ["text": "n\($0)"]) }
    for (index, note) in notes.enumerated() { try note.setValue(people[index % 3], forKey: "author") }
    try notes[0].setValue(people[1], forKey: "reviewer")
    try notes[1].setValue(people[1], forKey: "keeper")
    try notes[0].setValue([people[2], people[0], people[1]], forKey: "markedBy")
    try notes[3].setValue([people[1], people[2]], forKey: "markedBy")
    try notes[2].setValue([people[0], people[2]], forKey: "seenBy")
    try notes[2].setValue(notes[0], forKey: "question")
    try people[1].setValue([notes[3], notes[0]], forKey: "marks")
    try context.save()
  }

  /// All relationships of all objects, by names and texts.
  private func description(_ context: ManagedObjectContext) throws -> [String] {
    func name(_ object: ManagedObject) throws -> String {
      for key in ["name", "text"] {
        if case .attribute(.string(let text))? = try? object.value(forKey: key) {
          return "\(object.objectID.entityName) \(text)"
        }
      }
      return "?"
    }
    var lines: [String] = []
    let relationships = [
      "Person": ["notes", "marks", "desk"],
      "Note": ["author", "reviewer", "markedBy", "seenBy", "keeper", "answers", "question"],
    ]
    for (entity, keys) in relationships.sorted(by: { $0.key < $1.key }) {
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: entity)) {
        for key in keys {
          let value = try object.value(forKey: key)
          var related = try (value.objects + [value.object].compactMap { $0 }).map(name)
          // These have no order.
          if key == "seenBy" || key == "answers" { related.sort() }
          lines.append(try "\(name(object)).\(key) = \(related.joined(separator: ", "))")
        }
      }
    }
    return lines.sorted()
  }

  private func notesOfDump(_ result: BuiltTool.Result) -> [String] {
    result.errors.split(separator: "\n").map(String.init)
  }

  @Test(arguments: ["sqlite", "xml", "binary"])
  func relationshipsToTheOtherStoreComeBack(type: String) throws {
    try fill()
    let before = try description(context())
    #expect(before.contains("Note n0.markedBy = Person Cy, Person Ada, Guest Bob"), "\(before)")
    #expect(before.contains("Guest Bob.marks = Memo n3, Note n0"))

    let dump = try run("dump", "notes")
    #expect(dump.status == 0)
    let end = " of another store; dump that store too"
    #expect(
      notesOfDump(dump) == [
        "note: 1 reference of 'Memo.author' leads to an object" + end,
        "note: 2 references of 'Memo.markedBy' lead to objects" + end,
        "note: 3 references of 'Note.author' lead to objects" + end,
        "note: 1 reference of 'Note.keeper' leads to an object" + end,
        "note: 3 references of 'Note.markedBy' lead to objects" + end,
        "note: 1 reference of 'Note.reviewer' leads to an object" + end,
        "note: 2 references of 'Note.seenBy' lead to objects" + end,
      ])
    #expect(dump.output.contains(#""author":{"$otherStore":"Person/p1"}"#))
    // The rows of the notes contain these relationships, and no person's row does.
    let people = try run("dump", "people")
    #expect(people.status == 0 && people.errors.isEmpty)
    let rows = people.output.split(separator: "\n").dropFirst()
    #expect(rows.count == 4 && !rows.contains { $0.contains("marks") || $0.contains("desk") })

    let loaded = try run("load", "notes2", "-", "--type", type, input: dump.output)
    #expect(loaded.status == 0 && loaded.output == "Note: 3\nMemo: 1\n", "\(loaded)")
    #expect(notesOfDump(loaded).count == 7)
    #expect(
      notesOfDump(loaded).contains(
        "warning: 3 references of 'Note.author' lead to objects of another store, which 'load' does not open; use this "
          + "store only together with that one, in which the objects must have the same numbers"))
    #expect(try run("dump", "notes2") == dump)
    _ = try succeed("load", "people2", "-", "--type", type, input: people.output)
    #expect(try run("dump", "people2") == people)
    if type != "sqlite" { return }
    // The copies together, and each copy with the other store, are what both stores were.
    for (people, notes) in [("people2", "notes2"), ("people", "notes2"), ("people2", "notes")] {
      let both = try context(people: people, notes: notes)
      #expect(try description(both) == before)
      // The history of an old store has saves of both stores, which the history of a copy does not have.
      let defects = try both.persistentStoreCoordinator.verify()
      if people == "people2", notes == "notes2" { #expect(defects.isEmpty, "\(defects)") }
    }
  }

  @Test func aFetchHasTheReferencesToo() throws {
    try fill()
    let before = try description(context())
    let rows = try succeed("fetch", "notes", "Note", "--format", "json")
    #expect(rows.contains(#""reviewer":{"$otherStore":"Person/p2"}"#), "\(rows)")
    #expect(try succeed("fetch", "notes", "Note", "--format", "csv").contains(",Person/p2"))
    // A store with the model and no objects.
    let dump = try run("dump", "notes").output.split(separator: "\n")
    let header = try #require(dump.first)
    _ = try succeed("load", "notes2", "-", input: "\(header)\n{\"@end\":{\"objects\":0}}\n")
    let loaded = try run("load", "notes2", "-", input: rows)
    #expect(loaded.status == 0 && loaded.errors.contains("1 reference of 'Note.reviewer' leads"), "\(loaded)")
    // The rows of a fetch do not contain the order of the relationships on the other side, so it is not compared.
    func ofNotes(_ lines: [String]) -> [String] {
      let keys = ["author", "reviewer", "markedBy", "seenBy", "keeper"]
      return lines.filter { line in keys.contains { line.contains(".\($0) = ") } }
    }
    #expect(try ofNotes(description(context(notes: "notes2"))) == ofNotes(before))
  }

  @Test func aURIOfTheOtherStoreIsAReference() throws {
    try fill()
    let both = try context()
    let ada = try #require(
      both.fetch(
        FetchRequest<ManagedObject>(
          entityName: "Person", where: FetchPredicate(format: "name == 'Ada'"))
      ).first)
    let uri = ada.objectID.uriRepresentation
    let result = try run(
      "load", "notes", "-",
      input: #"{"@entity": "Note", "text": "new", "author": "\#(uri)", "seenBy": ["\#(uri)", "\#(uri)"]}"#)
    #expect(result.status == 0, "\(result)")
    let fresh = try context()
    #expect(
      try description(fresh).filter { $0.hasPrefix("Note new") } == [
        "Note new.answers = ", "Note new.author = Person Ada", "Note new.keeper = ", "Note new.markedBy = ",
        "Note new.question = ", "Note new.reviewer = ", "Note new.seenBy = Person Ada",
      ])
    #expect(try fresh.persistentStoreCoordinator.verify().isEmpty)
  }

  /// Such as a dump from the time when the other side was ordered.
  @Test func aPositionOnASideWithoutOrderIsIgnored() throws {
    try fill()
    let person = #"{"$otherStore": "Person/p1", "position": 7}"#
    let result = try run(
      "load", "notes", "-",
      input: #"{"@entity": "Note", "text": "new", "author": \#(person), "likedBy": [\#(person)]}"#)
    #expect(result.status == 0, "\(result)")
    let request = FetchRequest<ManagedObject>(
      entityName: "Note", where: try FetchPredicate(format: "text == 'new'"))
    let both = try context()
    let note = try #require(both.fetch(request).first)
    #expect(try note.value(forKey: "likedBy").objects.count == 1)
  }

  @Test func mistakesInReferencesHaveLines() throws {
    try fill()
    func refuse(
      _ store: String, _ rows: String, _ errors: String, location: Testing.SourceLocation = #_sourceLocation
    ) throws {
      let before = try run("dump", store)
      let result = try run("load", store, "-", input: rows)
      #expect(
        result == .init(status: 1, output: "", errors: "Error: \(errors)\n"), sourceLocation: location)
      #expect(try run("dump", store) == before, sourceLocation: location)
    }
    let form = #"leads to an object of another store; name it as {"$otherStore": "Person/pN"}, or by its URI"#
    try refuse(
      "notes",
      #"""
      {"@entity": "Note", "text": "x", "author": "ada"}
      {"@entity": "Note", "text": "x", "author": {"$otherStore": "Person/3"}}
      {"@entity": "Note", "text": "x", "author": {"$otherStore": "Person/p0"}}
      {"@entity": "Note", "text": "x", "author": {"$otherStore": "Person/p99999999999999999999"}}
      {"@entity": "Note", "text": "x", "author": {"$otherStore": "Note/p1"}}
      {"@entity": "Note", "text": "x", "author": {"$otherStore": "Nobody/p1"}}
      {"@entity": "Note", "text": "x", "author": [{"$otherStore": "Person/p1"}]}
      """#,
      """
      line 1, author: \(form)
      line 2, author: \(form)
      line 3, author: \(form)
      line 4, author: \(form)
      line 5, author: 'Note/p1' cannot be an object of 'Person', to which the relationship leads
      line 6, author: 'Nobody/p1' cannot be an object of 'Person', to which the relationship leads
      line 7, author: takes one object or null, not a list
      """)
    try refuse(
      "notes", #"{"@entity": "Note", "text": "x"}"#, "line 1, author: is mandatory and has no value")
    let author = #""author": {"$otherStore": "Person/p1"}"#
    try refuse(
      "notes",
      #"{"@entity": "Note", "text": "x", \#(author), "question": {"$otherStore": "Note/p1"}}"#,
      "line 1, question: leads to an object of another store, but this store has the objects of 'Note' itself; load the "
        + "file into a store without them")
    let four = (1...4).map { #"{"$otherStore": "Person/p\#($0)"}"# }.joined(separator: ", ")
    try refuse(
      "notes",
      #"{"@entity": "Note", "@id": "cdgen://\#(UUID().uuidString)/Note/p1", "text": "x", \#(author), "markedBy": [\#(four)]}"#,
      "line 1, markedBy: has 4 objects, which is fewer or more than allowed")
    // The relationship is in the rows of the other store.
    try refuse(
      "people", #"{"@entity": "Person", "name": "x", "marks": [{"$otherStore": "Note/p1"}]}"#,
      "line 1, marks: the store of 'Note' contains this relationship; load it there, as 'markedBy'")
    try refuse(
      "people", #"{"@entity": "Note", "text": "x"}"#, "line 1: another store holds the objects of 'Note'")
  }
}
