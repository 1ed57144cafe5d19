import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@_spi(Generated) @testable import CDRuntime

/// Large values on a server, which objects read when they are used: how much is transferred, and what happens if the
/// server does not answer.
@Suite(.needsServer) struct LargeValueTests {
  private static let model = ManagedObjectModel(
    name: "Files", id: UUID(uuidString: "0B2D2D3E-9B07-4B1C-8C55-4B9C7C7B3A77") ?? UUID(),
    versions: [
      ModelVersion(
        number: 1,
        entities: [
          EntityDescription(
            name: "File",
            attributes: [
              AttributeDescription(name: "name", type: .string),
              AttributeDescription(name: "contents", type: .data, isOptional: true, storesExternally: true),
            ])
        ])
    ], currentVersionNumber: 1)

  private let store: ServerStore
  private let proxy: TestProxy

  init() throws {
    store = try ServerStore()
    proxy = try TestProxy(to: store.server)
  }

  private func container(_ isDirect: Bool = false) throws -> PersistentContainer {
    var server = store.server
    if !isDirect { server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)] }
    return PersistentContainer(try PersistentStoreCoordinator(model: Self.model, at: .server(server)))
  }

  private func contents(_ number: Int) -> Data {
    Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number &* 7 &+ $0 >> 8) })
  }

  /// Contents that are made quickly.
  private func plain(_ number: Int) -> Data {
    Data(repeating: UInt8(truncatingIfNeeded: number), count: 100_000 + number)
  }

  private func fill(_ count: Int, by contents: ((Int) -> Data)? = nil) throws {
    let container = try container(true)
    let context = container.newContext()
    for number in 0..<count {
      let file = try context.insert(entityNamed: "File")
      try file.setValue("\(number)", forKey: "name")
      try file.setValue(contents?(number) ?? self.contents(number), forKey: "contents")
    }
    try context.save()
  }

  private func files(_ context: ManagedObjectContext) throws -> [ManagedObject] {
    try context.objects(forEntityNamed: "File", format: "TRUEPREDICATE")
  }

  private func data(_ file: ManagedObject) throws -> Data? {
    if case .attribute(.data(let data)) = try file.value(forKey: "contents") { return data }
    return nil
  }

  private func trips(_ body: () throws -> Void) throws -> [[String]] {
    _ = proxy.takeRoundTrips()
    _ = proxy.takeReceivedBytes()
    try body()
    return proxy.takeRoundTrips().filter { $0 != ["ROLLBACK"] }
  }

  @Test func aFetchTransfersNoLargeValue() throws {
    try fill(100)
    let container = try container()
    let context = container.newContext()
    var found: [ManagedObject] = []
    let fetch = try trips { found = try files(context) }
    #expect(fetch.count == 1)
    let fetched = proxy.takeReceivedBytes()
    #expect(found.count == 100 && fetched < 50_000, "\(fetched) bytes")
    // The getter is one round trip, and the value is kept.
    var value: Data?
    let first = try trips { value = try data(found[3]) }
    #expect(value == contents(3))
    #expect(first.count == 1 && first.joined().contains { $0.contains("_pk = ") }, "\(first)")
    let read = proxy.takeReceivedBytes()
    #expect(read > 100_000 && read < 150_000, "\(read) bytes")
    let again = try trips { value = try data(found[3]) }
    #expect(again.isEmpty && value == contents(3))
    // So is one in a block, whose first read begins the snapshot.
    let second = try trips { value = try context.perform { try data(found[4]) } }
    #expect(value == contents(4))
    #expect(second.count == 1 && second[0].first?.hasPrefix("BEGIN") == true, "\(second)")
    // A save of something else neither reads nor writes the value.
    try found[5].setValue("new", forKey: "name")
    let saved = try trips { try context.save() }
    #expect(!saved.joined().contains { $0.contains("contents") }, "\(saved)")
    #expect(proxy.takeReceivedBytes() < 20_000)
    #expect(try data(found[5]) == contents(5))
    // A fault too is read without the value.
    context.refresh(found[6], mergeChanges: false)
    let fault = try trips { _ = try found[6].value(forKey: "name") }
    #expect(fault.count == 1)
    #expect(proxy.takeReceivedBytes() < 20_000)
    #expect(try data(found[6]) == contents(6))
  }

  /// A dump reads the values of many objects in one statement, up to 16 MB.
  @Test func aDumpReadsValuesTogether() throws {
    try fill(300, by: plain)
    let container = try container()
    let context = container.newContext()
    var found: [Data] = []
    let read = try trips {
      try context.forEachObject(ofEntity: "File") { file in
        if let data = try data(file) { found.append(data) }
      }
    }
    #expect(found == (0..<300).map(plain))
    // The rows, and the values of up to 167 objects each.
    #expect(read.count <= 6, "\(read)")
    // In the order of a fetch, which is not that of the keys.
    var request = FetchRequest<ManagedObject>(entityName: "File")
    request.sortKeys = [SortKey("name", ascending: false)]
    let files = try context.fetch(request)
    var names: [String] = []
    let sorted = try trips {
      try context.perform {
        try context.forEach(files) { file in
          guard case .attribute(.string(let name)) = try file.value(forKey: "name") else { return }
          #expect(try data(file) == plain(Int(name) ?? 0))
          names.append(name)
        }
      }
    }
    #expect(names == (0..<300).map { "\($0)" }.sorted().reversed())
    #expect(sorted.count <= 6, "\(sorted)")
  }

  /// A value beyond the limit is read alone, and values that are gone or nil are no obstacle.
  @Test func aDumpOfVeryLargeValues() throws {
    let big = Data(repeating: 7, count: 17 << 20)
    let (writer, direct) = (try container(true), try container(true))
    let context = writer.newContext()
    for (number, value) in [big, nil, Data([1]), big, Data(repeating: 2, count: 5000)].enumerated() {
      let file = try context.insert(entityNamed: "File")
      try file.setValue("\(number)", forKey: "name")
      try file.setValue(.attribute(value.map { .data($0) } ?? .null), forKey: "contents")
    }
    try context.save()
    let reader = direct.newContext()
    var sizes: [Int?] = []
    try reader.forEachObject(ofEntity: "File") { sizes.append(try data($0)?.count) }
    #expect(sizes == [17 << 20, nil, 1, 17 << 20, 5000])
  }

  @Test(arguments: [0, 1, 4096, 4097, 200_000]) func valuesOfAllSizesAreEqual(size: Int) throws {
    let container = try container()
    let context = container.newContext()
    let value = Data((0..<size).map { UInt8(truncatingIfNeeded: $0) })
    let file = try context.insert(entityNamed: "File")
    try file.setValue("f", forKey: "name")
    try file.setValue(value, forKey: "contents")
    try context.save()
    let other = container.newContext()
    let same = try files(other)[0]
    var read: Data?
    let found = try trips { read = try data(same) }
    #expect(read == value)
    // A small value comes with its row.
    #expect(found.count == (1...4096 ~= size ? 0 : 1))
  }

  /// A getter cannot throw: it reports the error, and the object is inaccessible until it is fetched again.
  @Test(arguments: [true, false])
  func aLostConnectionIsReported(isInBlock: Bool) async throws {
    try fill(1)
    let container = try container()
    let context = container.newContext()
    let file = try files(context)[0]
    var errors = context.errors.makeAsyncIterator()
    proxy.decide { _ in .cutBefore }
    if isInBlock {
      context.perform {
        let found = file.committedValues["contents"]?.attribute
        #expect(found == .null)
      }
    } else {
      #expect(file.committedValues["contents"]?.attribute == .null)
    }
    let error = try #require(await errors.next())
    guard case .readFailed = error.reason else {
      Issue.record("\(error)")
      return
    }
    #expect(error.property == "contents" && file.isInaccessible)
    // Nothing is saved that was made of the missing value.
    #expect(throws: PropertyError.self) { try file.setValue(Data([1]), forKey: "contents") }
    proxy.decide { _ in .forward }
    #expect(try files(context)[0] === file && !file.isInaccessible)
    #expect(try data(file) == contents(0))
  }

  /// A reader that can throw does, and the object stays as it is.
  @Test(arguments: [true, false]) func aLostConnectionIsThrown(isChild: Bool) throws {
    try fill(1)
    let container = try container()
    let parent = container.newContext()
    let context = isChild ? ManagedObjectContext(parent: parent) : parent
    let file = try files(context)[0]
    try file.setValue("mine", forKey: "name")
    proxy.decide { _ in .cutBefore }
    #expect(throws: StoreError.self) { try data(file) }
    #expect(throws: StoreError.self) { try file.setValue(Data([1]), forKey: "contents") }
    #expect(throws: EvaluationError.self) { try file.evaluationValue(forKey: "contents") }
    #expect(!file.isInaccessible && parent.recentErrors.isEmpty && context.recentErrors.isEmpty)
    #expect(file.changedValues.keys.sorted() == ["name"])
    proxy.decide { _ in .forward }
    #expect(try data(file) == contents(0))
    if isChild { try context.save() }
    try parent.save()
    #expect(try data(file) == contents(0))
  }

  /// An undo does not restore a value that could not be read when the object was deleted.
  @Test(arguments: [true, false]) func anUndoOverwritesNothing(isDeletion: Bool) throws {
    try fill(1)
    let container = try container()
    let context = container.newContext()
    let undoManager = ContextUndoManager()
    context.undoManager = undoManager
    let file = try files(context)[0]
    proxy.decide { _ in .cutBefore }
    if isDeletion { context.delete(file) } else { file._willWriteLarge(1) }
    #expect(file.isInaccessible)
    undoManager.endEvent()
    proxy.decide { _ in .forward }
    context.refresh(file, mergeChanges: true)
    context.undo()
    #expect(try data(file) == contents(0))
    try context.save()
    context.redo()
    context.undo()
    try context.save()
    let other = try self.container(true).newContext()
    #expect(try files(other).map(data) == [contents(0)])
  }

  @Test func aLostConnectionKeepsChanges() throws {
    try fill(1)
    let container = try container()
    let context = container.newContext()
    let file = try files(context)[0]
    try file.setValue("mine", forKey: "name")
    proxy.decide { _ in .cutBefore }
    #expect(file.committedValues["contents"]?.attribute == .null && file.isInaccessible)
    proxy.decide { _ in .forward }
    #expect(throws: SaveError.self) { try context.save() }
    context.refresh(file, mergeChanges: true)
    #expect(try data(file) == contents(0))
    try context.save()
    let other = try self.container(true).newContext()
    let stored = try files(other)[0]
    #expect(try data(stored) == contents(0))
    #expect(try stored.value(forKey: "name") == .attribute(.string("mine")))
  }

  @Test func aCancelledReadIsAnError() async throws {
    try fill(1)
    let container = try container()
    let isInaccessible = Mutex<Bool?>(nil)
    let task = Task {
      try await container.performBackgroundTask { context in
        let file = try files(context)[0]
        withUnsafeCurrentTask { $0?.cancel() }
        defer { isInaccessible.withLock { $0 = file.isInaccessible } }
        return try data(file)
      }
    }
    let result = await task.result
    // The cancellation may come after the answer.
    switch result {
    case .success(let value): #expect(value == contents(0))
    case .failure(let error): #expect(error is CancellationError, "\(error)")
    }
    #expect(isInaccessible.withLock { $0 } == false)
    let context = container.newContext()
    #expect(try data(files(context)[0]) == contents(0))
  }

  /// Two programs: each has connections of its own.
  @Test func anotherProgramChangesTheValue() throws {
    try fill(2)
    let (mine, theirs) = (try container(), try container(true))
    let (context, other) = (mine.newContext(), theirs.newContext())
    let found = try files(context)
    try context.perform {
      _ = try files(context)
      let others = try files(other)
      try others[0].setValue(Data([1, 2, 3]), forKey: "contents")
      other.delete(others[1])
      try other.save()
      // The snapshot has the former values.
      let values = try found.map(data)
      #expect(values == [contents(0), contents(1)])
    }
    #expect(try files(context).map(data) == [Data([1, 2, 3])])
    #expect(found[1].isInaccessible)
    // A value that was read stays with the object.
    #expect(try data(found[1]) == contents(1))
  }

  @Test func otherEntitiesAreReadAsBefore() throws {
    let dialect = PostgresDialect()
    let plan = try ModelPlan(ServerStore.model)
    for select in plan.entities.map({ EntitySelect($0, entities: plan.entities, dialect) }) {
      #expect(!select.sql.contains("CASE"))
    }
  }
}
