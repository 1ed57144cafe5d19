import CDRuntime
import Foundation
import Testing

/// Derived attributes follow their sources if the sources have no inverse to the derived objects, and if the derived objects
/// are not in memory.
@Suite struct DerivedReaderTests {
  private let container: PersistentContainer

  private static func derived(_ name: String, _ text: String) throws -> AttributeDescription {
    AttributeDescription(
      name: name, type: .int64, isOptional: true, derivation: try ValueExpression(format: text))
  }

  init() throws {
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Shelf",
        attributes: [
          try Self.derived("size", "favourite.pages"), try Self.derived("total", "books.@sum.pages"),
          try Self.derived("deep", "favourite.series.number"), try Self.derived("count", "books.@count"),
        ],
        relationships: [
          // Neither has an inverse.
          RelationshipDescription(name: "favourite", destination: "Book"),
          RelationshipDescription(name: "books", destination: "Book", isToMany: true),
        ]),
      EntityDescription(
        name: "Wall", attributes: [try Self.derived("size", "shelf.size")],
        relationships: [RelationshipDescription(name: "shelf", destination: "Shelf")]),
      EntityDescription(
        name: "Book", attributes: [AttributeDescription(name: "pages", type: .int64)],
        relationships: [
          RelationshipDescription(name: "series", destination: "Series", inverse: "books"),
          RelationshipDescription(
            name: "friends", destination: "Author", isToMany: true, inverse: "friends", deleteRule: .noAction),
        ]),
      EntityDescription(
        name: "Novel", parent: "Book",
        relationships: [RelationshipDescription(name: "author", destination: "Author", inverse: "novel")]),
      EntityDescription(
        name: "Series",
        attributes: [
          AttributeDescription(name: "number", type: .int64, isOptional: true),
          try Self.derived("count", "books.@count"),
        ],
        relationships: [
          RelationshipDescription(name: "books", destination: "Book", isToMany: true, inverse: "series"),
          RelationshipDescription(name: "owner", destination: "Author", inverse: "series"),
        ]),
      EntityDescription(
        name: "Author",
        attributes: [
          try Self.derived("hasNovel", "TERNARY(novel == nil, 0, 1)"),
          try Self.derived("friendCount", "friends.@count"),
          try Self.derived("volumes", "series.books.@count"),
        ],
        relationships: [
          RelationshipDescription(name: "novel", destination: "Novel", inverse: "author"),
          RelationshipDescription(name: "friends", destination: "Book", isToMany: true, inverse: "friends"),
          RelationshipDescription(name: "series", destination: "Series", isToMany: true, inverse: "owner"),
        ]),
    ])
  }

  private func value(_ object: ManagedObject, _ key: String) throws -> Int64? {
    let context = container.newContext()
    guard
      case .attribute(.int(let number)) = try context.existingObject(with: object.objectID).value(forKey: key)
    else { return nil }
    return number
  }

  /// The context that an object is changed in: the one that has everything in memory, one that has nothing, or a child.
  enum Place: CaseIterable { case same, fresh, child, childOfFresh }

  private func change(
    _ place: Place, _ first: ManagedObjectContext, _ body: (ManagedObjectContext) throws -> Void
  ) throws {
    switch place {
    case .same:
      try body(first)
      try first.save()
    case .fresh:
      let context = container.newContext()
      try body(context)
      try context.save()
    case .child, .childOfFresh:
      let parent = place == .child ? first : container.newContext()
      let child = ManagedObjectContext(parent: parent)
      try body(child)
      try child.save()
      try parent.save()
    }
  }

  @Test(arguments: Place.allCases) func oneSidedRelationshipsAreFollowed(place: Place) throws {
    let context = container.newContext()
    let (wall, shelf) = (try context.insert(entityNamed: "Wall"), try context.insert(entityNamed: "Shelf"))
    let books = try (1...2).map { number in
      let book = try context.insert(entityNamed: number == 1 ? "Novel" : "Book")
      try book.setValue(number, forKey: "pages")
      return book
    }
    let series = try context.insert(entityNamed: "Series")
    try wall.setValue(shelf, forKey: "shelf")
    try shelf.setValue(books[0], forKey: "favourite")
    try shelf.setValue(books, forKey: "books")
    try books[0].setValue(series, forKey: "series")
    try context.save()
    func all() throws -> [Int64?] {
      [
        try value(wall, "size"), try value(shelf, "size"), try value(shelf, "total"),
        try value(shelf, "deep"),
        try value(shelf, "count"),
      ]
    }
    #expect(try all() == [1, 1, 3, nil, 2])
    try change(place, context) { context in
      try context.existingObject(with: books[0].objectID).setValue(10, forKey: "pages")
      try context.existingObject(with: series.objectID).setValue(5, forKey: "number")
    }
    #expect(try all() == [10, 10, 12, 5, 2])
    try change(place, context) { context in
      try context.existingObject(with: books[1].objectID).setValue(20, forKey: "pages")
    }
    #expect(try all() == [10, 10, 30, 5, 2])
    try change(place, context) { context in
      context.delete(try context.existingObject(with: books[0].objectID))
    }
    #expect(try all() == [nil, nil, 20, nil, 1])
  }

  // The reference and the value are new: no row tells of them.
  @Test func unsavedReferencesCount() throws {
    let context = container.newContext()
    let (wall, shelf) = (try context.insert(entityNamed: "Wall"), try context.insert(entityNamed: "Shelf"))
    let book = try context.insert(entityNamed: "Book")
    try book.setValue(1, forKey: "pages")
    try context.save()
    try wall.setValue(shelf, forKey: "shelf")
    try shelf.setValue(book, forKey: "favourite")
    try book.setValue(2, forKey: "pages")
    try context.save()
    #expect(try value(wall, "size") == 2)
  }

  @Test(arguments: Place.allCases) func aDeletionReachesThoseThatLoseTheObject(place: Place) throws {
    let context = container.newContext()
    let series = try context.insert(entityNamed: "Series")
    let author = try context.insert(entityNamed: "Author")
    let novel = try context.insert(entityNamed: "Novel")
    try novel.setValue(1, forKey: "pages")
    try novel.setValue(series, forKey: "series")
    try novel.setValue(author, forKey: "author")
    try novel.setValue([author], forKey: "friends")
    try series.setValue(author, forKey: "owner")
    try context.save()
    func all() throws -> [Int64?] {
      [
        try value(series, "count"), try value(author, "hasNovel"), try value(author, "friendCount"),
        try value(author, "volumes"),
      ]
    }
    #expect(try all() == [1, 1, 1, 1])
    try change(place, context) { context in context.delete(try context.existingObject(with: novel.objectID)) }
    #expect(try all() == [0, 0, 0, 0])
    #expect(try container.persistentStoreCoordinator.verify().isEmpty)
  }

  @Test func aBatchReachesThemToo() throws {
    let context = container.newContext()
    let (shelf, author) = (
      try context.insert(entityNamed: "Shelf"), try context.insert(entityNamed: "Author")
    )
    let novel = try context.insert(entityNamed: "Novel")
    try novel.setValue(1, forKey: "pages")
    try novel.setValue([author], forKey: "friends")
    try shelf.setValue(novel, forKey: "favourite")
    try shelf.setValue([novel], forKey: "books")
    try context.save()
    let request = FetchRequest<ManagedObject>(entityName: "Novel")
    try context.execute(
      BatchUpdateRequest<ManagedObject>(request, set: [.set("pages", to: .attribute(.int(4)))]))
    #expect(try [value(shelf, "size"), value(shelf, "total")] == [4, 4])
    try context.execute(BatchDeleteRequest<ManagedObject>(request))
    #expect(
      try [value(shelf, "size"), value(shelf, "total"), value(shelf, "count"), value(author, "friendCount")]
        == [nil, 0, 0, 0])
  }
}
