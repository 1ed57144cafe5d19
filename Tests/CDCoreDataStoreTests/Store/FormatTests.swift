import CDCoreDataStore
import CDModel
import CDRuntime
import Foundation
import Testing

/// Stores of Core Data that are opened as they are.
@Suite("Core Data's stores as a format") struct FormatTests {
  private func container(_ store: ShelfStore, isReadOnly: Bool = false) throws -> PersistentContainer {
    let model = try CoreDataStore(at: store.url).managedObjectModel(in: ShelfModel.model())
    return PersistentContainer(
      try PersistentStoreCoordinator(
        model: model,
        stores: [
          PersistentStoreDescription(
            .custom(store.url, CoreDataStoreFormat(model: model)), isReadOnly: isReadOnly)
        ]))
  }

  @Test(arguments: [false, true]) func objectsAreFetched(isReadOnly: Bool) throws {
    let store = try ShelfStore()
    let before = try store.contents()
    let context = try container(store, isReadOnly: isReadOnly).newContext()
    var request = FetchRequest<ManagedObject>(
      entityName: "Book", where: try FetchPredicate(format: "author.name == 'Ada' AND ANY tags.name == 'red'")
    )
    request.sortKeys = [SortKey("title", ascending: false)]
    let books = try context.fetch(request)
    #expect(try books.map { try $0.value(forKey: "title").attribute } == [.string("Two"), .string("One")])
    let author = try #require(try books[0].value(forKey: "author").object)
    #expect(
      try author.value(forKey: "books").objects.map { try $0.value(forKey: "title").attribute }
        == [.string("Two"), .string("One")])
    #expect(author.objectID.uriRepresentation.absoluteString == "cdgen://\(ShelfStore.id)/Author/p1")
    #expect(try store.contents() == before)
  }

  @Test func nothingIsSaved() throws {
    let store = try ShelfStore()
    let before = try store.contents()
    let context = try container(store).newContext()
    #expect(throws: StoreError.readOnly(store.url)) { try context.insert(entityNamed: "Tag") }
    let tags = try context.fetch(FetchRequest<ManagedObject>(entityName: "Tag"))
    try tags[0].setValue("pink", forKey: "name")
    #expect(throws: StoreError.readOnly(store.url)) { try context.save() }
    #expect(try store.contents() == before)
  }

  @Test func aStoreIsRecognisedAndNeitherRemovedNorWritten() throws {
    let store = try ShelfStore()
    let format = CoreDataStoreFormat(model: try ShelfModel.model())
    let location = try StoreLocation(recognizing: store.url, formats: [format])
    #expect(location == .custom(store.url, format))
    #expect(throws: StoreError.readOnly(store.url)) {
      try PersistentStoreCoordinator.destroyPersistentStore(at: store.url, formats: [format])
    }
    let metadata = try PersistentStoreCoordinator.metadata(forStoreAt: store.url, formats: [format])
    #expect(metadata.modelVersion.number == 1)
    _ = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: ShelfModel.model())
    // A store of cdgen is none of this format.
    #expect(
      try StoreLocation(recognizing: store.copy, formats: [format])
        == .sqlite(store.copy))
    #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator.copyPersistentStore(
        at: store.copy, to: .custom(store.folder.appending(path: "copy-back.sqlite"), format))
    }
  }

  @Test func anOpeningThrowsTheErrorOfThisModule() throws {
    let store = try ShelfStore(extra: ["UPDATE ZITEM SET ZAUTHOR = 77 WHERE Z_PK = 1"])
    let error = #expect(throws: CoreDataStoreError.self) { try container(store) }
    guard case .losses(_, let losses)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(losses.first.map(\.description) == ["Book p1, author: its object, p77, does not exist"])
    #expect(error?.situation == .migrationFailed)
  }

  @Test func aCopyIsMadeInOtherFormatsToo() throws {
    let store = try ShelfStore()
    let xml = store.folder.appending(path: "copy.xml")
    let copy = try CoreDataStore(at: store.url).copy(to: .xml(xml), model: ShelfModel.model())
    #expect(copy.counts["Book"] == 3)
    let text = try String(contentsOf: xml, encoding: .utf8)
    #expect(text.contains("<value name=\"title\">Three</value>"))
  }

  @Test func whatAStoreHoldsIsKnownWithoutAModel() throws {
    let made = try ShelfStore()
    let store = try CoreDataStore(at: made.url)
    #expect(store.storeID.uuidString == ShelfStore.id)
    #expect(store.frameworkVersion == 1333)
    #expect(store.versionIdentifiers == ["shelf-1"])
    #expect(
      store.entities.map { "\($0.name) \($0.parent ?? "-") \($0.count)" } == [
        "Author - 2", "Item - 0", "Book Item 3", "Magazine Item 1", "Passport - 1", "Sample - 0", "Tag - 3",
      ])
  }
}
