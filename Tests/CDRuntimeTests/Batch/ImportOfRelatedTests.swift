import CDRuntime
import Foundation
import Testing

/// An import relates new objects to objects that were in the store before, and takes these from others.
@Suite struct ImportOfRelatedTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private var coordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }

  init() throws {
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Category", attributes: [.derived("count", .int64, "toDos.@count")],
        relationships: [
          RelationshipDescription(name: "toDos", destination: "ToDo", isToMany: true, inverse: "category")
        ]),
      EntityDescription(
        name: "ToDo",
        attributes: [
          AttributeDescription(name: "title", type: .string, isOptional: true),
          .derived("others", .int64, "category.count"),
        ],
        relationships: [RelationshipDescription(name: "category", destination: "Category", inverse: "toDos")]),
      EntityDescription(
        name: "Shelf",
        relationships: [
          RelationshipDescription(
            name: "books", destination: "Book", isToMany: true, inverse: "shelf", minimumCount: 1)
        ]),
      EntityDescription(
        name: "Book",
        relationships: [RelationshipDescription(name: "shelf", destination: "Shelf", inverse: "books")]),
      EntityDescription(
        name: "Post",
        relationships: [
          RelationshipDescription(
            name: "tags", destination: "Tag", isToMany: true, inverse: "posts", maximumCount: 2)
        ]),
      EntityDescription(
        name: "Tag", attributes: [.derived("count", .int64, "posts.@count")],
        relationships: [
          RelationshipDescription(name: "posts", destination: "Post", isToMany: true, inverse: "tags")
        ]),
      // The row of the guest has the reference.
      EntityDescription(
        name: "Guest",
        relationships: [
          RelationshipDescription(name: "seat", destination: "Seat", isOptional: false, inverse: "guest")
        ]),
      EntityDescription(
        name: "Seat",
        relationships: [
          RelationshipDescription(name: "guest", destination: "Guest", isOptional: false, inverse: "seat")
        ]),
    ])
    context = container.newContext()
  }

  /// Inserts and saves an object with a relationship to others.
  private func insert(
    _ entity: String, _ relationship: String, _ others: [ManagedObject]
  ) throws -> ManagedObject {
    let object = try context.insert(entityNamed: entity)
    try object.setValue(others, forKey: relationship)
    try context.save()
    return object
  }

  /// Imports an object with a relationship to others.
  private func load(_ entity: String, _ relationship: String, _ others: [ManagedObject]) throws {
    try context.importObjects { objects in
      let key = try objects.firstKey(ofEntity: entity)
      try objects.insert(entity: entity, key: key, references: [], size: 0) { _ in }
      try objects.save()
      try objects.relate(
        entity: entity, key: key, relationship: relationship, to: others.map { $0.objectID.number })
    }
  }

  /// The mistakes for which an import is refused.
  private func mistakes(_ body: () throws -> Void) throws -> [BatchMistake] {
    do {
      try body()
      Issue.record("the import breaks a rule")
      return []
    } catch BatchError.invalid(let mistakes) {
      return mistakes
    }
  }

  @Test func aTakenObjectIsUpdated() throws {
    let toDos = try ["call", "mail"].map { title in
      let toDo = try context.insert(entityNamed: "ToDo")
      try toDo.setValue(title, forKey: "title")
      return toDo
    }
    let home = try insert("Category", "toDos", toDos)
    let token = try coordinator.currentHistoryToken()
    try load("Category", "toDos", [toDos[0]])

    let entry = try #require(coordinator.history(after: token).last)
    #expect(entry.updatedProperties(of: toDos[0].objectID).contains("category"))
    #expect(entry.updatedProperties(of: home.objectID).isSuperset(of: ["toDos", "count"]))
    #expect(!entry.updatedProperties(of: toDos[1].objectID).contains("category"))
    #expect(entry.changes.inserted.count == 1)
    // The context learns of it, and has no conflict when it saves the object.
    let category = try #require(toDos[0].value(forKey: "category").object)
    #expect(category !== home)
    #expect(try category.value(forKey: "count").attribute == .int(1))
    #expect(try home.value(forKey: "count").attribute == .int(1))
    #expect(try toDos[1].value(forKey: "others").attribute == .int(1))
    try toDos[0].setValue("call again", forKey: "title")
    try context.save()
    #expect(try coordinator.verify() == [])
  }

  @Test func theOtherSideOfAPairIsUpdated() throws {
    let post = try context.insert(entityNamed: "Post")
    let tag = try insert("Tag", "posts", [post])
    let token = try coordinator.currentHistoryToken()
    try load("Tag", "posts", [post])
    let entry = try #require(coordinator.history(after: token).last)
    #expect(entry.updatedProperties(of: post.objectID) == ["tags"])
    #expect(Array(entry.changes.updated) == [post.objectID])
    #expect(try post.value(forKey: "tags").objects.count == 2)
    #expect(try tag.value(forKey: "count").attribute == .int(1))
    #expect(try coordinator.verify() == [])
  }

  @Test func theRulesOfStoredObjectsAreChecked() throws {
    let post = try context.insert(entityNamed: "Post")
    _ = try insert("Tag", "posts", [post])
    _ = try insert("Tag", "posts", [post])
    let tooMany = try mistakes { try load("Tag", "posts", [post]) }
    #expect(tooMany.map(\.property) == ["tags"] && tooMany.map(\.objectID) == [post.objectID])
    #expect(tooMany.map(\.reason) == [.wrongCount(3)])

    let books = [try context.insert(entityNamed: "Book"), try context.insert(entityNamed: "Book")]
    let shelf = try insert("Shelf", "books", books)
    try load("Shelf", "books", [books[0]])
    let tooFew = try mistakes { try load("Shelf", "books", [books[1]]) }
    #expect(tooFew.map(\.property) == ["books"] && tooFew.map(\.objectID) == [shelf.objectID])
    #expect(tooFew.map(\.reason) == [.wrongCount(0)])

    let guest = try context.insert(entityNamed: "Guest")
    let seat = try context.insert(entityNamed: "Seat")
    try guest.setValue(seat, forKey: "seat")
    try context.save()
    let lost = try mistakes { try load("Seat", "guest", [guest]) }
    #expect(lost.map(\.property) == ["guest"] && lost.map(\.objectID) == [seat.objectID])
    #expect(lost.map(\.reason) == [.missingValue])
    #expect(try coordinator.verify() == [])
  }
}
