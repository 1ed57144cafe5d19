import CDModel
import Foundation
import Testing

@testable import CDRuntime

/// The history says which properties of an object were changed, and by which save: what a copy elsewhere has to be told.
@Suite struct ChangedPropertiesTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private var coordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }

  init() throws {
    func attribute(_ name: String, _ type: AttributeType = .string) -> AttributeDescription {
      AttributeDescription(name: name, type: type, isOptional: true)
    }
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Item", isAbstract: true, attributes: [attribute("title"), attribute("price", .int64)]),
      EntityDescription(
        name: "Book", parent: "Item",
        attributes: [
          attribute("isbn"),
          AttributeDescription(
            name: "size", type: .int64, isOptional: true,
            derivation: try ValueExpression(format: "chapters.@count")),
        ],
        relationships: [
          RelationshipDescription(name: "author", destination: "Author", inverse: "books"),
          RelationshipDescription(name: "tags", destination: "Tag", isToMany: true, inverse: "books"),
          RelationshipDescription(name: "chapters", destination: "Chapter", isToMany: true, inverse: "book"),
        ]),
      EntityDescription(
        name: "Author", attributes: [attribute("name")],
        relationships: [
          RelationshipDescription(name: "books", destination: "Book", isToMany: true, inverse: "author")
        ]),
      EntityDescription(
        name: "Tag", attributes: [attribute("name")],
        relationships: [
          RelationshipDescription(name: "books", destination: "Book", isToMany: true, inverse: "tags")
        ], uniquenessConstraints: [["name"]]),
      EntityDescription(
        name: "Chapter",
        relationships: [RelationshipDescription(name: "book", destination: "Book", inverse: "chapters")]),
    ])
    context = container.newContext()
  }

  private func set(_ object: ManagedObject, _ key: String, _ value: AttributeValue) throws {
    try object.setValue(.attribute(value), forKey: key)
  }

  /// What a body has done, which saves once.
  private func newest(_ body: () throws -> Void) throws -> HistoryTransaction {
    let token = try coordinator.currentHistoryToken()
    try body()
    let transactions = try coordinator.history(after: token)
    try #require(transactions.count == 1)
    #expect(try coordinator.verify() == [])
    return transactions[0]
  }

  private func books(_ count: Int) throws -> [ManagedObject] {
    let books = try (0..<count).map { number in
      let book = try context.insert(entityNamed: "Book")
      try set(book, "title", .string("Book \(number)"))
      return book
    }
    try context.save()
    return books
  }

  @Test func aSaveNamesWhatItChangesOfEachObject() throws {
    let books = try books(6)
    let transaction = try newest {
      for (number, book) in books.enumerated() {
        if number < 5 { try set(book, "title", .string("New \(number)")) }
        if number > 2 { try set(book, "isbn", .string("\(number)")) }
      }
      try context.save()
    }
    let changed = books.map { transaction.updatedProperties(of: $0.objectID) }
    let both: Set = ["title", "isbn"]
    #expect(changed == [["title"], ["title"], ["title"], both, both, ["isbn"]])
    #expect(transaction.changes.updated == ManagedObjectIDs(books.map(\.objectID)))
  }

  @Test func neitherNewNorDeletedObjectsHaveAny() throws {
    let books = try books(2)
    var new: ManagedObject?
    let transaction = try newest {
      try set(books[0], "title", .string("Gone"))
      context.delete(books[0])
      new = try context.insert(entityNamed: "Book")
      try context.save()
    }
    let ids = [books[0].objectID, try #require(new).objectID, books[1].objectID]
    #expect(ids.map { transaction.updatedProperties(of: $0) } == [[], [], []])
  }

  @Test func aValueThatIsSetBackIsNotNamed() throws {
    let books = try books(1)
    let transaction = try newest {
      try set(books[0], "title", .string("Other"))
      try set(books[0], "isbn", .string("1"))
      try set(books[0], "title", .string("Book 0"))
      try context.save()
    }
    #expect(transaction.updatedProperties(of: books[0].objectID) == ["isbn"])
  }

  @Test func relationshipsAreNamedOnTheSidesThatTheContextHas() throws {
    let book = try books(1)[0]
    let (author, tag, chapter) = (
      try context.insert(entityNamed: "Author"), try context.insert(entityNamed: "Tag"),
      try context.insert(entityNamed: "Chapter")
    )
    try set(tag, "name", .string("old"))
    try context.save()
    let transaction = try newest {
      try book.setValue(.object(author), forKey: "author")
      try book.setValue(.objects([tag]), forKey: "tags")
      try chapter.setValue(.object(book), forKey: "book")
      try context.save()
    }
    #expect(
      transaction.updatedProperties(of: book.objectID).isSuperset(of: ["author", "tags", "size"]))
    #expect(transaction.updatedProperties(of: tag.objectID) == ["books"])
    #expect(transaction.updatedProperties(of: chapter.objectID) == ["book"])
  }

  @Test func aBatchUpdateNamesWhatItSets() throws {
    let ids = try books(3).map(\.objectID)
    let request = BatchUpdateRequest<ManagedObject>(
      FetchRequest(entityName: "Item"),
      set: [.set("price", to: .attribute(.int(5))), .set("title", to: .attribute(.null))])
    let transaction = try newest { _ = try context.execute(request) }
    #expect(transaction.changes.updated == ManagedObjectIDs(ids))
    #expect(ids.map { transaction.updatedProperties(of: $0) }.allSatisfy { $0 == ["price", "title"] })
  }

  @Test func aBatchDeletionNamesWhatItsRulesChange() throws {
    let books = try books(2)
    let author = try context.insert(entityNamed: "Author")
    let tag = try context.insert(entityNamed: "Tag")
    try books[0].setValue(.object(author), forKey: "author")
    try books[1].setValue(.objects([tag]), forKey: "tags")
    let chapter = try context.insert(entityNamed: "Chapter")
    try chapter.setValue(.object(books[1]), forKey: "book")
    try context.save()
    let transaction = try newest {
      _ = try context.execute(BatchDeleteRequest<ManagedObject>(FetchRequest(entityName: "Author")))
    }
    #expect(transaction.updatedProperties(of: books[0].objectID) == ["author"])
    let tags = try newest {
      _ = try context.execute(BatchDeleteRequest<ManagedObject>(FetchRequest(entityName: "Tag")))
    }
    #expect(tags.updatedProperties(of: books[1].objectID) == ["tags"])
    let chapters = try newest {
      _ = try context.execute(BatchDeleteRequest<ManagedObject>(FetchRequest(entityName: "Chapter")))
    }
    // Of derived attributes a batch names all that it has computed anew.
    #expect(chapters.updatedProperties(of: books[1].objectID) == ["size"])
    #expect(chapters.updatedProperties(of: books[0].objectID) == [])
  }

  @Test func eachSaveHasAnIdentifierOfItsOwn() throws {
    let books = try books(2)
    for number in 0..<3 {
      try set(books[0], "price", .int(Int64(number)))
      try context.save()
    }
    _ = try context.execute(BatchDeleteRequest<ManagedObject>(FetchRequest(entityName: "Book")))
    let ids = try coordinator.history().map(\.saveID)
    #expect(ids.count == 5 && Set(ids).count == 5 && !ids.contains(nil))
  }

  @Test func theStoresOfOneSaveSayTheSameIdentifier() throws {
    let model = ManagedObjectModel(
      name: "Two", id: UUID(),
      versions: [
        ModelVersion(
          number: 1,
          entities: [EntityDescription(name: "Left"), EntityDescription(name: "Right")],
          configurations: [ConfigurationDescription(name: "Beside", entities: ["Right"])])
      ], currentVersionNumber: 1)
    let coordinator = try PersistentStoreCoordinator(
      model: model,
      stores: [
        PersistentStoreDescription(.inMemory), PersistentStoreDescription(.inMemory, configuration: "Beside"),
      ])
    let context = PersistentContainer(coordinator).newContext()
    for entity in ["Left", "Right"] { _ = try context.insert(entityNamed: entity) }
    try context.save()
    _ = try context.insert(entityNamed: "Left")
    try context.save()
    let ids = try coordinator.history().map(\.saveID)
    #expect(ids.count == 3 && Set(ids).count == 2 && !ids.contains(nil))
  }

  /// A save of many objects in the same properties has their keys in it once.
  @Test func keysThatAreThoseOfAllAreNotRepeated() throws {
    let entity = try JSONValue(
      parsing: #"{"properties":{"a":true,"b":[[2,2]]},"updated":[[1,3],[7,7]]}"#)
    let properties = HistoryText.properties(of: entity)
    #expect(properties.map(\.name) == ["a", "b"])
    #expect(properties.map(\.keys) == [[1...3, 7...7], [2...2]])
    #expect(HistoryText.isReadable(#"{"Book":{"properties":{"a":true},"updated":[[1,3]]}}"#))
    #expect(!HistoryText.isReadable(#"{"Book":{"properties":{"a":false},"updated":[[1,3]]}}"#))
  }

  /// Others may have written the file.
  @Test(arguments: [
    #"{"Book":{"properties":[],"updated":[[1,1]]}}"#,
    #"{"Book":{"properties":{"title":7},"updated":[[1,1]]}}"#,
    #"{"_save":{"id":7},"Book":{"updated":[[1,1]]}}"#,
    #"{"_save":{"id":"6F9619FF-8B86-D011-B42D-00C04FC964FF","stores":7},"Book":{"updated":[[1,1]]}}"#,
    #"{"Book":{"properties":{"title":[[2,1],[-3,4]]},"updated":[[1,1]]}}"#,
  ])
  func whatNobodyCanReadNamesNothingAndIsFound(_ text: String) {
    #expect(!HistoryText.isReadable(text))
    let entity = (try? JSONValue(parsing: text))?["Book"] ?? .null
    #expect(HistoryText.properties(of: entity).flatMap(\.keys).isEmpty)
    #expect(HistoryText.Mark(text) == nil)
  }
}
