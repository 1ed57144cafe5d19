import CDRuntime
import Foundation
import SeededRandom
import Testing

/// Files that are no stores any more, or never were. Nothing may trap, and what is thrown names the store.
@Suite(.onlyOnSQLite("its pages and tables; StoreFileDamageTests has the other kinds"))
struct DamagedFileTests {
  private let store: TemporaryStore
  private static let times = isThorough ? 20 : 1

  init() throws { store = try TemporaryStore() }

  /// A store with every kind of row, in its file alone.
  private func fill() throws -> Data {
    let context = try store.freshContext()
    for number in 0..<40 {
      let author = Author(name: "Author \(number)", in: context)
      let book = Book(title: "Title \(number)", isbn: "\(number)", author: author, in: context)
      book.settings = BookSettings(fontSize: number)
      book.reviews = [Review(stars: 1, in: context), Review(stars: 5, in: context)]
      book.addToTags(Tag(name: "tag \(number)", in: context))
      _ = Magazine(title: "Magazine \(number)", issue: Int32(number), author: author, in: context)
    }
    try context.save()
    // The journal goes into the file, so that the file is all there is.
    try PlainSQL.run("PRAGMA wal_checkpoint(TRUNCATE)", at: store.url)
    return try Data(contentsOf: store.url)
  }

  /// Writes a file of its own, and does with it what an app does.
  ///
  /// - Returns: Whether it could be used to the end.
  private func use(_ bytes: Data, _ name: String) throws -> Bool {
    let url = store.folder.appending(path: "\(name).cdstore")
    try bytes.write(to: url)
    defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: url.path + end) } }
    do {
      let container = PersistentContainer(try PlannedModel.library.coordinator(at: .sqlite(url)))
      let context = container.newContext()
      var read: [String] = []
      for publication in try Publication.objects(in: context) {
        read.append(publication.title + publication.author.name)
        (publication as? Book).map { read += $0.reviews.map { "\($0.stars)" } + $0.tags.map(\.name) }
      }
      _ = try Book.fetch(
        where: \.isbn > "2" && \.author.name != "nobody", sortedBy: \.title, in: context)
      _ = Author(name: "new", in: context)
      try Tag.objects(in: context).first.map(context.delete)
      try context.save()
      _ = try container.persistentStoreCoordinator.verify()
      return true
    } catch let error as StoreError {
      // Each of them names the file, whose folder is in no other's name.
      if case .engine = error { Issue.record("\(error)") }
      #expect("\(error)".contains(store.folder.lastPathComponent))
    } catch is SaveError {
      // A damaged row may break a rule, or refer to one that is gone.
    } catch is FetchError {
      // A damaged row may be none of the entity's any more.
    }
    return false
  }

  @Test func aFlippedByteTrapsNowhere() throws {
    let whole = try fill()
    #expect(try use(whole, "whole"))
    var random = SplitMix(seed: 7)
    for round in 0..<100 * Self.times {
      var bytes = whole
      for _ in 0...round % 3 {
        bytes[Int(random.next() % UInt64(bytes.count))] ^= UInt8(truncatingIfNeeded: 1 << (random.next() % 8))
      }
      _ = try use(bytes, "flipped")
    }
  }

  @Test func aFlippedPageHeaderTrapsNowhere() throws {
    let whole = try fill()
    var random = SplitMix(seed: 8)
    for _ in 0..<70 * Self.times {
      var bytes = whole
      // Where SQLite keeps what leads it about.
      let page = Int(random.next() % UInt64(bytes.count / 4096)) * 4096 + (random.next() % 8 == 0 ? 100 : 0)
      bytes[page + Int(random.next() % 48)] = UInt8(truncatingIfNeeded: random.next())
      _ = try use(bytes, "page")
    }
  }

  @Test func aTruncatedFileIsDamaged() throws {
    let whole = try fill()
    var random = SplitMix(seed: 9)
    var lengths = (0..<20 * Self.times).map { _ in Int(random.next() % UInt64(whole.count)) }
    lengths += [1, 15, 16, 99, 100, 512, 4095, 4096, 4097, whole.count - 4096]
    for length in lengths {
      #expect(try !use(whole.prefix(length), "truncated"), "\(length) bytes of \(whole.count)")
    }
    // An empty file is what a program leaves that makes the file before the store.
    #expect(try use(Data(), "empty"))
  }

  @Test func aJournalOfNonsenseIsPassedOver() throws {
    let whole = try fill()
    let url = store.folder.appending(path: "journal.cdstore")
    try whole.write(to: url)
    try Data((0..<9000).map { UInt8(truncatingIfNeeded: $0 * 7) }).write(to: URL(filePath: url.path + "-wal"))
    try Data((0..<32768).map { UInt8(truncatingIfNeeded: $0 * 3) }).write(
      to: URL(filePath: url.path + "-shm"))
    let container = try PersistentContainer(for: LibraryModel.self, at: url)
    #expect(try Book.objects(in: container.newContext()).count == 40)
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  /// The power went while the store was being made: the file has its length, and not its first page.
  @Test func aCreationThatWasInterruptedIsMadeAnew() throws {
    let url = store.folder.appending(path: "new.cdstore")
    func big(_ values: Int...) -> [UInt8] {
      values.flatMap { value in (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
    }
    let head = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7] + big(0, 77, 0, 512, 4096)
    try Data(count: 8192).write(to: url)
    #expect(throws: StoreError.notADatabase(url)) { try PersistentContainer(for: LibraryModel.self, at: url) }
    try (Data(head) + Data(count: 512 - head.count)).write(to: URL(filePath: url.path + "-journal"))
    let context = try PersistentContainer(for: LibraryModel.self, at: url).newContext()
    #expect(try Tag.objects(in: context).isEmpty)
  }

  @Test func whatIsNoFileIsRefused() throws {
    let folder = store.folder.appending(path: "folder.cdstore")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    #expect(throws: StoreError.cannotCreate(folder, reason: "the path leads to something that is not a file"))
    {
      try PersistentContainer(for: LibraryModel.self, at: folder)
    }
    // Nobody writes to the pipe: whoever opened it to read would wait.
    let pipe = store.folder.appending(path: "pipe.cdstore")
    #expect(mkfifo(pipe.path, 0o600) == 0)
    #expect(throws: StoreError.cannotCreate(pipe, reason: "the path leads to something that is not a file")) {
      try PersistentContainer(for: LibraryModel.self, at: pipe)
    }
    let lost = store.folder.appending(path: "no/such/folder/x.cdstore")
    #expect {
      try PersistentContainer(for: LibraryModel.self, at: lost)
    } throws: { error in
      error as? StoreError
        == .cannotCreate(
          lost, reason: "the folder \(store.folder.path)/no/such/folder does not exist; create it first")
    }
    let text = store.folder.appending(path: "text")
    try Data("text".utf8).write(to: text)
    let within = text.appending(path: "x.cdstore")
    #expect(throws: StoreError.cannotCreate(within, reason: "\(text.path) is a file, not a folder")) {
      try PersistentContainer(for: LibraryModel.self, at: within)
    }
  }

  @Test(arguments: [
    "formatVersion", "storeUUID", "modelID", "modelName", "versionNumber", "version", "dataHash",
    "layoutHash",
    "definitionHash", "entityHashes", "createdBy",
  ])
  func metadataThatAreNotThereAreNamed(key: String) throws {
    _ = try store.container()
    try PlainSQL.run("DELETE FROM _cdgen_metadata WHERE key = '\(key)'", at: store.url)
    #expect(throws: StoreError.damagedMetadata(store.url, key: key)) { try store.container() }
    #expect(throws: StoreError.damagedMetadata(store.url, key: key)) {
      try PersistentStoreCoordinator.metadata(forStoreAt: store.url)
    }
  }

  @Test(arguments: [
    ("formatVersion", "one"), ("storeUUID", "1234"), ("modelID", ""), ("versionNumber", "1.5"),
  ])
  func metadataThatSayNothingAreNamed(key: String, value: String) throws {
    _ = try store.container()
    try PlainSQL.run("UPDATE _cdgen_metadata SET value = '\(value)' WHERE key = '\(key)'", at: store.url)
    #expect(throws: StoreError.damagedMetadata(store.url, key: key)) { try store.container() }
  }

  @Test(arguments: ["Tag", "_cdgen_keys", "_cdgen_history", "_cdgen_metadata"])
  func aTableThatIsGoneIsAnError(table: String) throws {
    _ = try fill()
    try PlainSQL.run("PRAGMA foreign_keys = OFF; DROP TABLE \"\(table)\"", at: store.url)
    #expect(throws: StoreError.self) {
      let container = try store.container()
      let context = container.newContext()
      _ = try Tag.objects(in: context)
      _ = Tag(name: "another", in: context)
      try context.save()
    }
  }
}
