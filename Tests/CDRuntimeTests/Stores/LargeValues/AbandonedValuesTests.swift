import Foundation
import Testing

@testable import CDRuntime

/// The large values that a killed copy or removal leaves. No store needs them.
@Suite(.onceForAllKinds) struct AbandonedValuesTests {
  private let fixture: MigrationFixture
  /// The files as a killed process leaves them.
  private let left: MigrationFixture

  private static let model = MigrationFixture.model([
    MigrationFixture.version(
      1,
      [
        entity(
          "Doc",
          [AttributeDescription(name: "body", type: .data, isOptional: true, storesExternally: true)])
      ])
  ])

  init() throws {
    fixture = try MigrationFixture()
    left = try MigrationFixture()
  }

  /// Creates a store with two large values.
  private func create(_ kind: StoreKind) throws {
    let context = ManagedObjectContext(
      try PersistentStoreCoordinator(model: Self.model, at: kind.location(fixture.url)))
    for byte in [1, 2] as [UInt8] {
      let doc = try context.insert(entityNamed: "Doc")
      try doc.setValue(.attribute(.data(Data(repeating: byte, count: 100_000))), forKey: "body")
    }
    try context.save()
  }

  /// Copies the folder at a point, as a process that is killed there leaves it.
  private func leave(at point: String, _ body: () throws -> Void) throws {
    let (folder, target) = (fixture.folder, left.folder)
    let hook: @Sendable (String) throws -> Void = { reached in
      guard reached == point else { return }
      try FileManager.default.removeItem(at: target)
      try MigrationFaultTests.clone(folder, to: target)
    }
    try MigrationFaults.$hook.withValue(hook) { try body() }
  }

  private func leaveCopy(_ kind: StoreKind, at point: String) throws {
    try create(kind)
    try leave(at: point) {
      try copy(fixture.url, to: kind.location(fixture.folder.appending(path: "copy")))
    }
  }

  private func copy(_ url: URL, to location: StoreLocation) throws {
    try PersistentStoreCoordinator.copyPersistentStore(at: url, to: location, formats: [JSONStoreFormat()])
  }

  private func destroy(_ url: URL) throws {
    try PersistentStoreCoordinator.destroyPersistentStore(at: url, formats: [JSONStoreFormat()])
  }

  private func open(_ kind: StoreKind, _ url: URL) throws {
    _ = try PersistentStoreCoordinator(model: Self.model, at: kind.location(url))
  }

  private func values(_ url: URL) -> Set<String> { ExternalFiles(store: url).names }

  /// Adds a value of a store whose file somebody has moved away for a while.
  private func addOtherValue(beside url: URL) throws -> String {
    let name = UUID().uuidString
    try Data([1]).write(to: ExternalFiles(store: url).folder.appending(path: name))
    return name
  }

  /// What somebody does next at the place of the copy or the removed store.
  enum Next: CaseIterable, Sendable {
    case removal, copy, opening
  }

  private func perform(_ next: Next, _ kind: StoreKind, at url: URL) throws {
    switch next {
    case .removal: try destroy(url)
    case .copy:
      // A store without large values.
      let empty = left.folder.appending(path: "empty")
      try open(kind, empty)
      try copy(empty, to: kind.location(url))
    case .opening: try open(kind, url)
    }
  }

  @Test(arguments: StoreKind.files, [Next.removal, .copy])
  func theValuesOfAKilledCopyGo(_ kind: StoreKind, _ next: Next) throws {
    try leaveCopy(kind, at: "finish the copy")
    let target = left.folder.appending(path: "copy")
    #expect(values(target).count == 2)
    #expect(left.files.contains("copy-copying"))
    let other = try addOtherValue(beside: target)
    try perform(next, kind, at: target)
    #expect(values(target) == [other])
    #expect(!left.files.contains { $0.hasPrefix("copy-copying") })
  }

  @Test(arguments: StoreKind.files) func aCopyThatWasKilledIsMadeAgain(_ kind: StoreKind) throws {
    try leaveCopy(kind, at: "finish the copy")
    let target = left.folder.appending(path: "copy")
    try copy(left.url, to: kind.location(target))
    #expect(values(target) == values(left.url))
    #expect(!left.files.contains { $0.hasPrefix("copy-copying") })
    let coordinator = try PersistentStoreCoordinator(model: Self.model, at: kind.location(target))
    #expect(try coordinator.verify().isEmpty)
  }

  /// From this point on, a complete store can need the values, and somebody can move its file away.
  @Test(arguments: StoreKind.files) func theValuesOfACompleteCopyStay(_ kind: StoreKind) throws {
    try leaveCopy(kind, at: "name the copy")
    let target = left.folder.appending(path: "copy")
    let all = values(target)
    #expect(all.count == 2)
    // A store that is written as a whole is an empty file until then.
    try? FileManager.default.removeItem(at: target)
    try destroy(target)
    #expect(values(target) == all)
  }

  /// A failed copy removes what it has written, also after it has emptied its list.
  @Test(arguments: StoreKind.files, ["finish the copy", "name the copy"])
  func theValuesOfAFailedCopyGo(_ kind: StoreKind, _ point: String) throws {
    struct Fault: Error {}
    try create(kind)
    let hook: @Sendable (String) throws -> Void = { reached in
      if reached == point { throw Fault() }
    }
    #expect(throws: Fault.self) {
      try MigrationFaults.$hook.withValue(hook) {
        try copy(fixture.url, to: kind.location(fixture.folder.appending(path: "copy")))
      }
    }
    #expect(!fixture.files.contains { $0.hasPrefix("copy") })
  }

  @Test(arguments: StoreKind.files, Next.allCases)
  func theValuesOfAKilledRemovalGo(_ kind: StoreKind, _ next: Next) throws {
    // An opening of another store collects them as unused files.
    guard kind == .sqlite || next != .opening else { return }
    try create(kind)
    try leave(at: "remove large values") { try destroy(fixture.url) }
    #expect(fixture.files.isEmpty)
    #expect(left.files == ["store.cdstore-copying", "store.cdstore-external"])
    #expect(values(left.url).count == 2)
    let other = try addOtherValue(beside: left.url)
    try perform(next, kind, at: left.url)
    #expect(values(left.url) == [other])
    #expect(!left.files.contains("store.cdstore-copying"))
  }

  /// Somebody can create a store with the same values by copying its files, and move it away later.
  @Test(arguments: StoreKind.files) func aStoreThatIsOpenedKeepsListedValues(_ kind: StoreKind) throws {
    try create(kind)
    let all = values(fixture.url)
    let list = fixture.folder.appending(path: "store.cdstore-copying")
    try Data(all.map { $0 + "\n" }.joined().utf8).write(to: list)
    try open(kind, fixture.url)
    #expect(values(fixture.url) == all)
    #expect(!FileManager.default.fileExists(atPath: list.path))
    try FileManager.default.moveItem(at: fixture.url, to: fixture.folder.appending(path: "aside"))
    try destroy(fixture.url)
    #expect(values(fixture.url) == all)
  }

  /// Another store can have the name of the list.
  @Test(arguments: StoreKind.files) func anOpeningRemovesNoOtherStore(_ kind: StoreKind) throws {
    let other = fixture.folder.appending(path: "store.cdstore-copying")
    try open(kind, other)
    try open(kind, fixture.url)
    #expect(FileManager.default.fileExists(atPath: other.path))
  }
}
