import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Conflicts of objects that have not read a large value, which another context replaces by a value of another size: the
/// new value may come with the row.
@Suite(.needsServer) struct UnreadConflictTests {
  private static let model = ManagedObjectModel(
    name: "Scans", id: UUID(uuidString: "6B0C3F52-7C1D-4B57-9A55-0C4E3D9A7F21") ?? UUID(),
    versions: [
      ModelVersion(
        number: 1,
        entities: [
          EntityDescription(
            name: "Page", attributes: [AttributeDescription(name: "title", type: .string)]),
          EntityDescription(
            name: "Scan", parent: "Page",
            attributes: [
              AttributeDescription(name: "image", type: .data, isOptional: true, storesExternally: true),
              AttributeDescription(name: "text", type: .data, storesExternally: true),
            ]),
        ])
    ], currentVersionNumber: 1)

  private let store: ServerStore
  private let container: PersistentContainer

  init() throws {
    store = try ServerStore()
    container = PersistentContainer(
      try PersistentStoreCoordinator(model: Self.model, at: .server(store.server)))
  }

  static let policies: [MergePolicy] = [
    .overwrite, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .rollback,
    MergePolicy { _ in .values([:]) },
  ]

  private func data(_ object: ManagedObject, _ key: String) throws -> Data? {
    if case .attribute(.data(let data)) = try object.value(forKey: key) { return data }
    return nil
  }

  private func page(_ context: ManagedObjectContext) throws -> ManagedObject {
    try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Page")).first)
  }

  private func fill(_ size: Int) throws {
    let context = container.newContext()
    let scan = try context.insert(entityNamed: "Scan")
    try scan.setValue("first", forKey: "title")
    for key in ["image", "text"] { try scan.setValue(Data(repeating: 1, count: size), forKey: key) }
    try context.save()
  }

  /// The policy leaves a value as it is in the store that the object has not read.
  @Test(arguments: 0..<policies.count, [0, 1, 4096, 4097, 65_536, 65_537])
  func aPolicyKeepsTheOtherContextsValue(_ policy: Int, _ size: Int) throws {
    try fill(100_000)
    let (context, other) = (container.newContext(), container.newContext())
    context.mergePolicy = Self.policies[policy]
    let mine = try page(context)
    let theirs = try page(other)
    let new = Data(repeating: 2, count: size)
    try theirs.setValue(new, forKey: "image")
    try theirs.setValue(new, forKey: "text")
    // Something else is a conflict, so that the policy decides.
    try theirs.setValue("theirs", forKey: "title")
    try other.save()
    try mine.setValue("mine", forKey: "title")
    try context.save()
    let reader = container.newContext()
    let stored = try page(reader)
    #expect(try data(stored, "image") == new && data(stored, "text") == new)
    #expect(try data(mine, "image") == new && data(mine, "text") == new)
  }

  /// An object with changes reads the newest value. Its own value is then no conflict, and the other one is kept.
  @Test(arguments: 0..<policies.count, [0, 10, 70_000])
  func aPolicyKeepsWhatWasSetAfterTheNewestValueWasRead(_ policy: Int, _ size: Int) throws {
    try fill(100_000)
    let (context, other) = (container.newContext(), container.newContext())
    context.mergePolicy = Self.policies[policy]
    let mine = try page(context)
    let theirs = try page(other)
    let (new, own) = (Data(repeating: 2, count: size), Data(repeating: 3, count: 50_000))
    for key in ["image", "text"] { try theirs.setValue(new, forKey: key) }
    try other.save()
    try mine.setValue("mine", forKey: "title")
    try mine.setValue(own, forKey: "image")
    try context.save()
    let reader = container.newContext()
    let stored = try page(reader)
    #expect(try data(stored, "text") == new && data(stored, "image") == own)
    #expect(try data(mine, "text") == new && data(mine, "image") == own)
  }

  /// The other context takes the value away.
  @Test(arguments: 0..<policies.count) func nilStaysNil(_ policy: Int) throws {
    try fill(9000)
    let (context, other) = (container.newContext(), container.newContext())
    context.mergePolicy = Self.policies[policy]
    let mine = try page(context)
    let theirs = try page(other)
    try theirs.setValue(.attribute(.null), forKey: "image")
    try theirs.setValue("theirs", forKey: "title")
    try other.save()
    try mine.setValue("mine", forKey: "title")
    try context.save()
    let reader = container.newContext()
    #expect(try data(page(reader), "image") == nil && data(mine, "image") == nil)
  }
}
