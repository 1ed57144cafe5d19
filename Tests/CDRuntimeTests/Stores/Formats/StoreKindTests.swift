import Foundation
import Testing

@testable import CDRuntime

/// What all kinds of stores do alike.
@Suite(.onceForAllKinds) struct StoreKindTests {
  private let folder: URL
  private let url: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appending(path: "library.store")
  }

  private func removeFiles() { try? FileManager.default.removeItem(at: folder) }

  private var files: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
  }

  private func open(_ kind: StoreKind) throws -> PersistentStoreCoordinator {
    try PersistentStoreCoordinator(for: LibraryModel.self, at: kind.location(url))
  }

  private static func tag(_ name: String, _ context: ManagedObjectContext) throws -> Tag? {
    try Tag.objects(in: context).first { $0.name == name }
  }

  /// Texts that a file may have trouble with.
  static let texts = [
    "", " ", "\t a \n b \r c \r\n", "<&>\"']]>", "\u{0}\u{1}\u{1F}", "\u{FFFE}\u{FFFF}", "e\u{301}", "👩‍👩‍👧‍👦",
    String(repeating: "long ", count: 50_000),
  ]

  /// Writers with books, which have values of all types, and every kind of relationship.
  private func fill(_ context: ManagedObjectContext) throws {
    let author = Author(name: "Henry David Thoreau", in: context)
    let other = Author(name: "Lidian", in: context)
    author.spouse = other
    var books: [Book] = []
    for (number, text) in Self.texts.enumerated() {
      let book = Book(title: text, isbn: "0-\(number)", author: author, in: context)
      book.salesRank = [Int64.min, -1, 0, 119, 120, .max, nil, 1, 2][number % 9]
      book.price =
        [Decimal(0), Decimal(string: "0.00000000000000000000000001"), Decimal(123_456_789)][number % 3] ?? 0
      book.added = Date(
        timeIntervalSinceReferenceDate: [
          0.1, -1, 1e300, 86_399, -63_114_076_800, .leastNonzeroMagnitude, 0, 1, 2,
        ][number % 9])
      if number > 0 { book.shippedTo = Address(street: text, city: number % 2 == 0 ? nil : "Concord") }
      for stars in 1..<1 + number % 4 {
        let review = Review(stars: Int16(stars), in: context)
        review.text = text
        book.addToReviews(review)
      }
      book.prequel = books.last
      books.append(book)
    }
    for name in ["a", "b"] {
      let tag = Tag(name: name, in: context)
      for book in books.reversed() { tag.addToBooks(book) }
    }
    let shelf = Shelf(in: context)
    for book in books.prefix(3).reversed() { shelf.addToBooks(book) }
    shelf.favourite = books[1]
  }

  @Test(arguments: StoreKind.files) func everythingComesBackAsItWas(_ kind: StoreKind) throws {
    defer { removeFiles() }
    let before = try {
      let coordinator = try open(kind)
      let context = ManagedObjectContext(coordinator)
      context.transactionAuthor = "nobody\u{1}"
      try fill(context)
      try context.save()
      return try coordinator.storedRows()
    }()
    let coordinator = try open(kind)
    let after = try coordinator.storedRows()
    #expect(after == before)
    #expect(before["Book"]?.count == Self.texts.count && before["_history"]?.count == 1)
    #expect(try coordinator.verify().isEmpty)
    let context = ManagedObjectContext(coordinator)
    let books = try Book.objects(in: context)
    #expect(Set(books.map { Array($0.title.utf8) }) == Set(Self.texts.map { Array($0.utf8) }))
    let tag = try #require(try Self.tag("a", context))
    #expect(tag.books.map(\.isbn) == (0..<Self.texts.count).reversed().map { "0-\($0)" })
    withExtendedLifetime(context) {}
    if kind != .sqlite { #expect(files == ["library.store"]) }
  }

  @Test(arguments: StoreKind.files) func changesOfManySavesStay(_ kind: StoreKind) throws {
    defer { removeFiles() }
    var ids: [ManagedObjectID] = []
    for round in 0..<4 {
      let coordinator = try open(kind)
      let context = ManagedObjectContext(coordinator)
      let tag = Tag(name: "tag \(round)", in: context)
      ids.append(tag.objectID)
      try context.save()
      if round > 0 {
        let old = try #require(try context.existingObject(with: ids[round - 1]) as? Tag)
        #expect(old.name == "tag \(round - 1)")
        context.delete(old)
        try context.save()
      }
    }
    // No key comes again, and a URI leads where it led.
    #expect(Set(ids.map(\.uriRepresentation)).count == 4)
    let coordinator = try open(kind)
    let context = ManagedObjectContext(coordinator)
    #expect(coordinator.managedObjectID(forURIRepresentation: ids[3].uriRepresentation) == ids[3])
    #expect(try Tag.objects(in: context).map(\.name) == ["tag 3"])
    #expect(try coordinator.storedRows()["_history"]?.count == 7)
    withExtendedLifetime(context) {}
  }

  @Test(arguments: StoreKind.files) func metadataAreReadWithoutOpening(_ kind: StoreKind) throws {
    defer { removeFiles() }
    let id = try {
      let coordinator = try open(kind)
      let id = try #require(coordinator.storeIDs.first)
      try coordinator.setMetadata(["it's": "\"quoted\"\u{0}", "\u{1}": ""], forStore: id)
      return id
    }()
    let metadata = try PersistentStoreCoordinator.metadata(forStoreAt: url, formats: [JSONStoreFormat()])
    #expect(metadata.storeID == id && metadata.managedObjectModel == LibraryDescription.model)
    #expect(metadata.values == ["it's": "\"quoted\"\u{0}", "\u{1}": ""])
    #expect(
      try StoreLocation(recognizing: url, formats: [JSONStoreFormat()])
        == kind.location(url))
    if kind != .json {
      // The container asks the file what it is.
      let container = try PersistentContainer(for: LibraryModel.self, at: url)
      #expect(container.persistentStoreCoordinator.storeIDs == [id])
    }
  }

  @Test(arguments: StoreKind.files) func aStoreReadAloneIsNotChanged(_ kind: StoreKind) throws {
    defer { removeFiles() }
    let first = try open(kind)
    let writer = ManagedObjectContext(first)
    _ = Tag(name: "a", in: writer)
    try writer.save()
    // Beside the one that writes.
    let description = PersistentStoreDescription(kind.location(url), isReadOnly: true)
    let coordinator = try PersistentStoreCoordinator(for: LibraryModel.self, stores: [description])
    let context = ManagedObjectContext(coordinator)
    let tag = try #require(try Self.tag("a", context))
    tag.name = "b"
    #expect(throws: StoreError.readOnly(url)) { try context.save() }
  }

  @Test(arguments: StoreKind.whole) func aSecondOwnerIsToldSo(_ kind: StoreKind) throws {
    defer { removeFiles() }
    let first = try open(kind)
    #expect(throws: StoreError.inUse(url)) { try open(kind) }
    let context = ManagedObjectContext(first)
    _ = Tag(name: "a", in: context)
    try context.save()
    // The lock went along with the new file.
    #expect(throws: StoreError.inUse(url)) { try open(kind) }
    #expect(throws: StoreError.inUse(url)) {
      try PersistentStoreCoordinator.destroyPersistentStore(at: url, formats: [JSONStoreFormat()])
    }
    withExtendedLifetime(first) {}
  }

  /// A program that this one starts holds the locks until it runs, also of stores that are closed in the meantime.
  @Test(arguments: StoreKind.whole) func aLockThatIsAboutToEndIsWaitedFor(_ kind: StoreKind) throws {
    defer { removeFiles() }
    try withExtendedLifetime(open(kind)) {}
    let descriptor = Foundation.open(url.path, O_RDWR | O_CLOEXEC)
    #expect(descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    let isClosed = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      usleep(50_000)
      close(descriptor)
      isClosed.signal()
    }
    let context = ManagedObjectContext(try open(kind))
    _ = Tag(name: "a", in: context)
    try context.save()
    isClosed.wait()
  }

  @Test(arguments: StoreKind.files) func aStoreIsDestroyed(_ kind: StoreKind) throws {
    defer { removeFiles() }
    _ = try open(kind)
    try PersistentStoreCoordinator.destroyPersistentStore(at: url, formats: [JSONStoreFormat()])
    #expect(files.isEmpty)
  }

  /// A killed program leaves its log, and then somebody removes the file alone.
  @Test func aRestoredStoreDoesNotGetTheLogOfTheFormerOne() throws {
    defer { removeFiles() }
    let backup = folder.appending(path: "backup")
    let log = folder.appending(path: "log")
    try {
      let context = ManagedObjectContext(try open(.sqlite))
      _ = Tag(name: "a", in: context)
      try context.save()
      try PersistentStoreCoordinator.copyPersistentStore(at: url, to: .sqlite(backup))
      _ = Tag(name: "b", in: context)
      try context.save()
      try FileManager.default.copyItem(atPath: url.path + "-wal", toPath: log.path)
      withExtendedLifetime(context) {}
    }()
    try PersistentStoreCoordinator.destroyPersistentStore(at: url)
    #expect(files == ["backup", "log"])
    for end in ["-wal", "-shm", "-journal"] {
      try FileManager.default.copyItem(atPath: log.path, toPath: url.path + end)
    }
    try PersistentStoreCoordinator.copyPersistentStore(at: backup, to: .sqlite(url))
    #expect(files == ["backup", "library.store", "log"])
    let context = ManagedObjectContext(try open(.sqlite))
    #expect(try Tag.objects(in: context).map(\.name) == ["a"])
    withExtendedLifetime(context) {}
  }

  /// A migration that was killed leaves its new file, and a second name of the old one.
  @Test func whatAnInterruptedMigrationHasLeftIsDestroyedWithTheStore() throws {
    defer { removeFiles() }
    _ = try open(.sqlite)
    let path = url.path(percentEncoded: false)
    try FileManager.default.linkItem(atPath: path, toPath: path + "-before-1")
    for end in ["-migrating1", "-migrating1-journal", "-migrating2", "-migrating-files"] {
      try Data("rows".utf8).write(to: URL(filePath: path + end))
    }
    try PersistentStoreCoordinator.destroyPersistentStore(at: url)
    #expect(files.isEmpty)
  }

  @Test func aLogWithoutItsStoreIsRemovedWithIt() throws {
    defer { removeFiles() }
    for end in ["-wal", "-shm", "-journal", "-other"] {
      try Data("log".utf8).write(to: URL(filePath: url.path + end))
    }
    try PersistentStoreCoordinator.destroyPersistentStore(at: url)
    #expect(files == ["library.store-other"])
  }

  @Test(arguments: StoreKind.whole) func aFileThatWasReplacedIsNotWrittenTo(_ kind: StoreKind) throws {
    defer { removeFiles() }
    let context = ManagedObjectContext(try open(kind))
    _ = Tag(name: "a", in: context)
    try context.save()
    try FileManager.default.moveItem(at: url, to: folder.appending(path: "moved"))
    _ = Tag(name: "b", in: context)
    #expect(throws: StoreError.replaced(url)) { try context.save() }
    #expect(files == ["moved"])
  }

  /// By an editor, for example, which does not know of the lock.
  @Test(arguments: StoreKind.whole) func aFileThatSomebodyHasEditedIsNotOverwritten(_ kind: StoreKind) throws
  {
    defer { removeFiles() }
    let context = ManagedObjectContext(try open(kind))
    _ = Tag(name: "a", in: context)
    try context.save()
    let handle = try FileHandle(forWritingTo: url)
    try handle.seekToEnd()
    try handle.write(contentsOf: Data("<!-- mine -->".utf8))
    try handle.close()
    let edited = try Data(contentsOf: url)
    _ = Tag(name: "b", in: context)
    #expect(throws: StoreError.replaced(url)) { try context.save() }
    #expect(try Data(contentsOf: url) == edited)
    #expect(files == ["library.store"])
  }

  @Test(arguments: [StoreKind.xml, .binary]) func aSaveThatCannotBeWrittenChangesNothing(_ kind: StoreKind)
    throws
  {
    defer { removeFiles() }
    let coordinator = try open(kind)
    let context = ManagedObjectContext(coordinator)
    let tag = Tag(name: "a", in: context)
    try context.save()
    let before = try Data(contentsOf: url)
    // Where the new file would be made there is a folder with something in it.
    let work = folder.appending(path: "library.store-saving")
    try FileManager.default.createDirectory(at: work.appending(path: "in"), withIntermediateDirectories: true)
    tag.name = "b"
    #expect(throws: StoreError.self) { try context.save() }
    #expect(try Data(contentsOf: url) == before)
    #expect(context.hasChanges)
    #expect(try Self.tag("b", ManagedObjectContext(coordinator)) == nil)
    try FileManager.default.removeItem(at: work)
    try context.save()
    #expect(try Data(contentsOf: url) != before)
  }

  @Test func aFormatThatFailsFailsTheSave() throws {
    defer { removeFiles() }
    struct Refusal: Error {}
    struct Failing: StoreFormat {
      let name = "failing"
      let json = JSONStoreFormat()
      func recognizes(_ start: [UInt8]) -> Bool { json.recognizes(start) }
      func read(_ input: StoreInput, into builder: StoreBuilder) throws {
        try json.read(input, into: builder)
      }
      func write(_ contents: StoreContents, to output: StoreOutput) throws {
        try json.write(contents, to: output)
        for table in contents.tables where table.name == "Tag" {
          try contents.forEachRow(of: table) { if $0.contains(.text("bad")) { throw Refusal() } }
        }
      }
    }
    let coordinator = try PersistentStoreCoordinator(for: LibraryModel.self, at: .custom(url, Failing()))
    let context = ManagedObjectContext(coordinator)
    let tag = Tag(name: "bad", in: context)
    #expect(throws: StoreError.formatFailed(url, format: "failing", reason: "Refusal()")) {
      try context.save()
    }
    tag.name = "good"
    try context.save()
    #expect(files == ["library.store"])
    #expect(try Tag.objects(in: ManagedObjectContext(coordinator)).map(\.name) == ["good"])
  }

  @Test(arguments: StoreKind.files, StoreKind.files)
  func aStoreIsCopiedIntoOneOfAnyKind(_ kind: StoreKind, _ other: StoreKind) throws {
    defer { removeFiles() }
    let before = try {
      let coordinator = try open(kind)
      let context = ManagedObjectContext(coordinator)
      try fill(context)
      try context.save()
      return try coordinator.storedRows()
    }()
    let copy = folder.appending(path: "copy")
    try PersistentStoreCoordinator.copyPersistentStore(
      at: url, to: other.location(copy), formats: [JSONStoreFormat()])
    let coordinator = try PersistentStoreCoordinator(for: LibraryModel.self, at: other.location(copy))
    #expect(try coordinator.storedRows() == before)
    #expect(
      coordinator.storeIDs
        == [try PersistentStoreCoordinator.metadata(forStoreAt: url, formats: [JSONStoreFormat()]).storeID])
    #expect(try coordinator.verify().isEmpty)
    #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator.copyPersistentStore(
        at: url, to: other.location(copy), formats: [JSONStoreFormat()])
    }
  }

  /// The first opening after a migration removes the old file. Beside a copy, a file with such a name is another one.
  @Test func aCopyHasNoBackups() throws {
    defer { removeFiles() }
    try withExtendedLifetime(open(.xml)) {}
    let text = try String(contentsOf: url, encoding: .utf8)
    let entry = "<metadata>\n<entry key=\"pendingBackup\">copy-before-1</entry>\n"
    try Data(text.replacing("<metadata>\n", with: entry).utf8).write(to: url)
    let copy = folder.appending(path: "copy")
    try PersistentStoreCoordinator.copyPersistentStore(at: url, to: .sqlite(copy))
    let keys = try PlainSQL.rows("SELECT key FROM _cdgen_metadata", at: copy)
    #expect(keys.contains("storeUUID") && !keys.contains("pendingBackup"))
    let file = folder.appending(path: "copy-before-1")
    try Data("mine".utf8).write(to: file)
    _ = try PersistentStoreCoordinator(for: LibraryModel.self, at: .sqlite(copy))
    #expect(FileManager.default.fileExists(atPath: file.path))
  }

  @Test(arguments: StoreKind.whole) func severalStoresAreSavedTogether(_ kind: StoreKind) throws {
    defer { removeFiles() }
    let model = ManagedObjectModel(
      name: "Two", id: UUID(uuidString: "1F2E3D4C-0000-4000-8000-0123456789AB") ?? UUID(),
      versions: [
        ModelVersion(
          number: 1,
          entities: [
            EntityDescription(
              name: "A", attributes: [AttributeDescription(name: "x", type: .int64)],
              relationships: [RelationshipDescription(name: "b", destination: "B", inverse: "a")]),
            EntityDescription(
              name: "B", attributes: [AttributeDescription(name: "x", type: .int64)],
              relationships: [RelationshipDescription(name: "a", destination: "A", inverse: "b")]),
          ],
          configurations: [
            ConfigurationDescription(name: "one", entities: ["A"]),
            ConfigurationDescription(name: "two", entities: ["B"]),
          ])
      ], currentVersionNumber: 1)
    let two = folder.appending(path: "two")
    func open() throws -> PersistentStoreCoordinator {
      try PersistentStoreCoordinator(
        model: model,
        stores: [
          PersistentStoreDescription(kind.location(url), configuration: "one"),
          PersistentStoreDescription(kind.location(two), configuration: "two"),
        ])
    }
    try {
      let context = ManagedObjectContext(try open())
      let a = try context.insert(entityNamed: "A")
      let b = try context.insert(entityNamed: "B")
      try a.setValue(.attribute(.int(1)), forKey: "x")
      try b.setValue(.attribute(.int(2)), forKey: "x")
      try a.setValue(.object(b), forKey: "b")
      try context.save()
      // The second file cannot be written: the first is as it was, too.
      let before = try Data(contentsOf: url)
      let work = folder.appending(path: "two-saving/in")
      try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
      try a.setValue(.attribute(.int(3)), forKey: "x")
      try b.setValue(.attribute(.int(3)), forKey: "x")
      #expect(throws: StoreError.self) { try context.save() }
      #expect(try Data(contentsOf: url) == before)
      try FileManager.default.removeItem(at: folder.appending(path: "two-saving"))
    }()
    let context = ManagedObjectContext(try open())
    let a = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "A")).first)
    guard case .object(let b?) = try a.value(forKey: "b") else {
      Issue.record("no b")
      return
    }
    #expect(try b.value(forKey: "x") == .attribute(.int(2)))
  }

  /// The positions are in the file of the other objects.
  @Test(arguments: StoreKind.files) func anOrderIsInTheFileThatHasThePositions(_ kind: StoreKind) throws {
    defer { removeFiles() }
    let descriptions = [
      PersistentStoreDescription(kind.location(url), configuration: "People"),
      PersistentStoreDescription(kind.location(folder.appending(path: "notes")), configuration: "Notes"),
    ]
    func context() throws -> ManagedObjectContext {
      ManagedObjectContext(try PersistentStoreCoordinator(model: DiaryStores.model, stores: descriptions))
    }
    try {
      let context = try context()
      let person = try context.insert(entityNamed: "Person")
      try person.setValue("Grace", forKey: "name")
      let notes = try ["a", "b"].map { text in
        let note = try context.insert(entityNamed: "Note")
        try note.setValue(text, forKey: "text")
        return note
      }
      try person.setValue(notes, forKey: "marks")
      try context.save()
      try person.setValue([notes[1], notes[0]], forKey: "marks")
      try context.save()
      // The history of each file has the save.
      #expect(try context.persistentStoreCoordinator.history().count == 4)
    }()
    let context = try context()
    let person = try #require(try context.objects(forEntityNamed: "Person", format: "TRUEPREDICATE").first)
    guard case .objects(let notes) = try person.value(forKey: "marks") else {
      Issue.record("no marks")
      return
    }
    #expect(try notes.map { try $0.value(forKey: "text") } == ["b", "a"].map { .attribute(.string($0)) })
    #expect(try context.persistentStoreCoordinator.verify() == [])
  }

  @Test(arguments: StoreKind.files) func batchesAreInTheFile(_ kind: StoreKind) throws {
    defer { removeFiles() }
    func names() throws -> [String] {
      try Tag.objects(in: ManagedObjectContext(open(kind))).map(\.name).sorted()
    }
    do {
      let context = ManagedObjectContext(try open(kind))
      try context.execute(BatchInsertRequest<Tag>(["a", "b", "c"], columns: [.set(\.name) { $0 }]))
    }
    #expect(try names() == ["a", "b", "c"])
    do {
      let context = ManagedObjectContext(try open(kind))
      try context.execute(
        BatchUpdateRequest<Tag>(where: \.name == "b", set: [.set(\.name, to: "B")]))
    }
    #expect(try names() == ["B", "a", "c"])
    do {
      let context = ManagedObjectContext(try open(kind))
      try context.execute(BatchDeleteRequest<Tag>(where: \.name == "a"))
    }
    #expect(try names() == ["B", "c"])
  }

  @Test(arguments: StoreKind.files) func aPurgedHistoryIsPurgedInTheFile(_ kind: StoreKind) throws {
    defer { removeFiles() }
    do {
      let coordinator = try open(kind)
      let context = ManagedObjectContext(coordinator)
      for name in ["a", "b", "c"] {
        _ = Tag(name: name, in: context)
        try context.save()
      }
      try coordinator.purgeHistory(before: .now)
    }
    #expect(try open(kind).history().count == 1)
  }
}
