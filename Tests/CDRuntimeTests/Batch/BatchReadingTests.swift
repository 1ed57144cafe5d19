@_spi(Generated) import CDRuntime
import Foundation
import Testing

/// A batch reads objects for conditions and derivations that the store cannot decide, each in the state that it is about.
@Suite struct BatchReadingTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  /// Publishers with books, which know the publisher's name and the number of their reviews.
  init() throws {
    container = try PersistentContainer(
      scratchOf: [
        EntityDescription(
          name: "Publisher",
          attributes: [AttributeDescription(name: "name", type: .string, isOptional: true)],
          relationships: [
            RelationshipDescription(name: "books", destination: "Book", isToMany: true, inverse: "publisher")
          ]),
        EntityDescription(
          name: "Book",
          attributes: [
            AttributeDescription(name: "title", type: .string, isOptional: true),
            .derived("publisherName", .string, "publisher.name"),
            .derived("reviewCount", .int64, "reviews.@count"),
          ],
          relationships: [
            RelationshipDescription(name: "publisher", destination: "Publisher", inverse: "books"),
            RelationshipDescription(name: "reviews", destination: "Review", isToMany: true, inverse: "book"),
          ]),
        EntityDescription(
          name: "Review", attributes: [AttributeDescription(name: "text", type: .string, isOptional: true)],
          relationships: [RelationshipDescription(name: "book", destination: "Book", inverse: "reviews")]),
      ])
    context = container.newContext()
    let publisher = try context.insert(entityNamed: "Publisher")
    try publisher.setValue("bookco", forKey: "name")
    let book = try context.insert(entityNamed: "Book")
    try book.setValue("T", forKey: "title")
    try book.setValue(publisher, forKey: "publisher")
    for text in ["spam", "Spam", "good"] {
      let review = try context.insert(entityNamed: "Review")
      try review.setValue(text, forKey: "text")
      try review.setValue(book, forKey: "book")
    }
    try context.save()
  }

  private func value(_ key: String) throws -> AttributeValue? {
    let request = FetchRequest<ManagedObject>(entityName: "Book")
    return try container.newContext().fetch(request).first?.value(forKey: key).attribute
  }

  private func request(_ entity: String, _ format: String? = nil) throws -> FetchRequest<ManagedObject> {
    FetchRequest(entityName: entity, where: try format.map { try FetchPredicate(format: $0) })
  }

  @Test func anUpdateWithAConditionInMemoryDerivesFromTheNewValues() throws {
    #expect(try value("publisherName") == .string("bookco"))
    let condition = "uppercase:(name) == 'BOOKCO'"
    let result = try context.execute(
      BatchUpdateRequest<ManagedObject>(
        try request("Publisher", condition), set: [.set("name", to: "BookCo")]))
    #expect(result.count == 1)
    #expect(try value("publisherName") == .string("BookCo"))
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test func aDeletionWithAConditionInMemoryDerivesFromTheRowsThatAreLeft() throws {
    #expect(try value("reviewCount") == .int(3))
    let condition = "book.reviews.@count > 1 AND uppercase:(text) CONTAINS 'SPAM'"
    let result = try context.execute(BatchDeleteRequest<ManagedObject>(try request("Review", condition)))
    #expect(result.count == 2)
    #expect(try value("reviewCount") == .int(1))
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test(.onlyOnSQLite("a table is removed behind the store's back"))
  func aDerivationThatCannotBeReadWritesNothing() throws {
    let store = try TemporaryStore()
    let model = container.persistentStoreCoordinator.managedObjectModel
    let container = try PersistentContainer(
      PersistentStoreCoordinator(model: model, at: .sqlite(store.url)))
    let context = container.newContext()
    let book = try context.insert(entityNamed: "Book")
    try book.setValue("T", forKey: "title")
    let review = try context.insert(entityNamed: "Review")
    try review.setValue(book, forKey: "book")
    try context.save()
    try PlainSQL.run(
      "PRAGMA foreign_keys = OFF; ALTER TABLE \"Review\" RENAME TO \"Elsewhere\"", at: store.url)
    #expect(throws: (any Error).self) {
      try context.execute(
        BatchUpdateRequest<ManagedObject>(try request("Book"), set: [.set("title", to: "X")]))
    }
    try PlainSQL.run("ALTER TABLE \"Elsewhere\" RENAME TO \"Review\"", at: store.url)
    let found = try container.newContext().fetch(try request("Book")).first
    #expect(try found?.value(forKey: "title").attribute == .string("T"))
    #expect(try found?.value(forKey: "reviewCount").attribute == .int(1))
  }

  /// No save would write what such a method changes.
  @Test func aBatchCallsNoMethodOfTheLifecycle() throws {
    let container = try PersistentContainer(scratchFor: LibraryModel.self)
    let context = container.newContext()
    _ = Tag(name: "a", in: context)
    try context.save()
    let probe = HookProbe(.awakeFromFetch) { _ in }
    let count = try HookProbe.$current.withValue(probe) {
      try context.execute(
        BatchUpdateRequest<ManagedObject>(
          try request("Tag", "uppercase:(name) == 'A'"), set: [.set("name", to: "b")])
      ).count
    }
    #expect(count == 1)
    #expect(!probe.wasReached)
  }

  /// With the defaults of such attributes, the batch would choose other objects than a fetch.
  @Test func aBatchReadsTransientAttributesAsTheAppSetsThem() throws {
    let container = try PersistentContainer(scratchFor: MemosModel.self)
    let context = container.newContext()
    _ = Memo(text: "!kept", in: context)
    _ = Memo(text: "old", in: context)
    try context.save()
    let condition = try request("Memo", "isKept == NO")
    let result = try context.execute(BatchDeleteRequest<ManagedObject>(condition))
    #expect(result.count == 1)
    #expect(try Memo.objects(in: container.newContext()).map(\.text) == ["!kept"])
  }
}

/// A text, and whether it begins with an exclamation mark.
nonisolated final class Memo: CDRuntime.ManagedObject, CDRuntime.EntityClass {
  private final var _text: String = ""
  private final var _isKept: Bool = false
  final var text: String {
    get {
      _willRead()
      return _text
    }
    set {
      _willWrite(0)
      _text = newValue
    }
  }
  final var isKept: Bool {
    get {
      _willRead()
      return _isKept
    }
    set {
      _willWrite(1)
      _isKept = newValue
    }
  }

  init(text: String, in context: CDRuntime.ManagedObjectContext) {
    super.init(_seed: CDRuntime.ObjectSeed(inserting: "Memo", in: context, isComplete: true))
    _text = text
  }
  override init(_seed: borrowing CDRuntime.ObjectSeed) { super.init(_seed: _seed) }
  override class var entityName: String { "Memo" }
  override func _decode(_ row: CDRuntime.RowReader) {
    super._decode(row)
    _text = row.string(0)
    if let row = row.transients { _isKept = row.bool(1) }
  }
  override func _encode(_ slot: Int, _ writer: CDRuntime.RowWriter) {
    switch slot {
    case 0: writer.string(_text)
    case 1: writer.bool(_isKept)
    default: super._encode(slot, writer)
    }
  }
}

extension Memo: ManagedObjectLifecycle {
  func awakeFromFetch() { isKept = text.hasPrefix("!") }
}

nonisolated enum MemosModel: CDRuntime.GeneratedModel {
  static let _definition = CDRuntime.ModelDefinition(
    format: CDRuntime.GeneratedCodeFormat1.self,
    classes: ["Memo": CDRuntime.GeneratedClass(Memo.self) { Memo(_seed: $0) }],
    canonicalJSON: description.canonicalJSON)

  private static let description = ManagedObjectModel(
    name: "Memos", id: UUID(uuidString: "7C1F0A5D-3E0B-4E3A-9C58-6B0D7D2E4F10") ?? UUID(),
    versions: [ModelVersion(number: 1, entities: [memo])], currentVersionNumber: 1)

  private static let memo = EntityDescription(
    name: "Memo",
    attributes: [
      AttributeDescription(name: "text", type: .string),
      AttributeDescription(
        name: "isKept", type: .bool, defaultValue: .value(.bool(false)), isTransient: true),
    ])
}
