import Foundation
import Testing

@testable import CDRuntime

/// The short ways, on objects with and without generated classes.
@Suite struct HelperTests {

  @Test func byEntityNameAndKeys() throws {
    let library = try FetchLibrary(.inMemory)
    let context = library.container.newContext()
    let found = try context.objects(
      forEntityNamed: "Book", matching: ["isbn": "1", "salesRank": 3], using: .or)
    #expect(
      try found.map { try $0.value(forKey: "isbn").attribute } == [.string("1"), .string("7"), .string("11")])
    #expect(try context.objects(forEntityNamed: "Magazine").count == 3)
    #expect(
      try context.objects(forEntityNamed: "Book", format: "salesRank > %d AND title == %@", 1, "B").count == 1
    )
    #expect(try context.object(forEntityNamed: "Book", format: "isbn == %@", "4") is Book)
    #expect(throws: FetchError.tooManyObjects(entity: "Book")) {
      try context.object(forEntityNamed: "Book", format: "title == 'a'")
    }
    #expect(throws: FormatError.self) { try context.objects(forEntityNamed: "Book", format: "title ==") }
    // What looks like SQL is a value like any other.
    #expect(try context.objects(forEntityNamed: "Book", matching: ["title": "a' OR 1=1 --"]).isEmpty)
    #expect(throws: FetchError.unknownKey(entity: "Book", key: "title\" OR 1=1 --")) {
      try context.objects(forEntityNamed: "Book", matching: ["title\" OR 1=1 --": "a"])
    }
    #expect(throws: FetchError.self) {
      try context.objects(forEntityNamed: "Book", format: "%K == 'a'", "title\" OR 1=1 --")
    }
  }

  @Test func byTemplateName() throws {
    let library = try FetchLibrary(.inMemory)
    let context = library.container.newContext()
    let found = try context.objects(forEntityNamed: "Book", template: "bestsellers", variables: ["atMost": 1])
    #expect(
      try found.map { try $0.value(forKey: "isbn").attribute } == [
        .string("4"), .string("8"), .string("1"), .string("5"),
      ])
    var request = try context.fetchRequest(
      forEntityNamed: "Book", template: "bestsellers", variables: ["atMost": 1])
    request.limit = 1
    #expect(try context.fetch(request).count == 1)
    #expect(throws: FetchError.missingVariable("atMost")) {
      try context.objects(forEntityNamed: "Book", template: "bestsellers")
    }
    #expect(throws: FetchError.unknownTemplate(entity: "Book", name: "worst")) {
      try context.fetchRequest(forEntityNamed: "Book", template: "worst")
    }
  }

  @Test func theSameObjectInAnotherContext() throws {
    let library = try FetchLibrary(.file)
    let (first, second) = (library.container.newContext(), library.container.newContext())
    let book = try #require(try Book.object(isbn: "1", in: first))
    let local = try second.localInstance(of: book)
    #expect(local !== book)
    #expect(local.objectID == book.objectID)
    #expect(try first.localInstance(of: book) === book)
    #expect(try Book.object(with: book.objectID, in: second) === local)
    #expect(throws: FetchError.unknownObject(book.objectID)) {
      try Magazine.object(with: book.objectID, in: second)
    }
    let new = Tag(name: "unsaved", in: first)
    #expect(throws: FetchError.unknownObject(new.objectID)) { try second.localInstance(of: new) }
  }

  @Test func newObjectsByEntityName() throws {
    let library = try FetchLibrary(.inMemory)
    let context = library.container.newContext()
    let tag = try context.insert(entityNamed: "Tag", values: ["name": "by name"])
    #expect((tag as? Tag)?.name == "by name")
    #expect(throws: PropertyError.self) { try context.insert(entityNamed: "Tag", values: ["colour": "red"]) }
    #expect(throws: PropertyError.self) { try context.insert(entityNamed: "Tag", values: ["name": nil]) }
    #expect(throws: FetchError.abstractEntity("Publication")) {
      try context.insert(entityNamed: "Publication", values: [:])
    }
    #expect(context.insertedObjects == [tag])
    try context.save()
  }

  @Test func formatsAreFreeOfAnEntityUntilAFetch() throws {
    let library = try FetchLibrary(.inMemory)
    let context = library.container.newContext()
    let named = try FetchPredicate(format: "name == $name")
    let combined = FetchPredicate.or([
      named, .not(try FetchPredicate(format: "name BEGINSWITH 'a'")), .and([.truePredicate, named]),
    ])
    for (entity, count) in [("Author", 4), ("Tag", 3)] {
      var request = FetchRequest<ManagedObject>(entityName: entity, where: combined)
      request.variables["name"] = "rare"
      #expect(try context.count(for: request) == count)
    }
    #expect(throws: FetchError.self) { try context.fetch(FetchRequest<Book>(where: named)) }
  }
}
