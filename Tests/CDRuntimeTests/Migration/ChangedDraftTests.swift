import Foundation
import Testing

@testable import CDRuntime

/// Stores that were written with a draft of the model which has changed since: what the error says, and what
/// `changedDraftPolicy` does.
@Suite(.onceForAllKinds) final class ChangedDraftTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
  private var url: URL { folder.appending(path: "draft.store") }
  private let id = UUID()

  init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Version 1, and a draft of version 2 whose objects have an attribute, and a large value beside the file.
  private func model(
    _ attribute: String, current: Int = 2, locked: Set<Int> = [1], mandatory: Bool = false
  ) -> ManagedObjectModel {
    func version(_ number: Int, _ attributes: [AttributeDescription]) -> ModelVersion {
      var version = ModelVersion(
        number: number, entities: [EntityDescription(name: "Item", attributes: attributes)])
      version.basedOn = number > 1 ? [number - 1] : []
      return version
    }
    let text = AttributeDescription(name: "text", type: .string, isOptional: !mandatory)
    let image = AttributeDescription(name: "image", type: .data, isOptional: true, storesExternally: true)
    let own = AttributeDescription(name: attribute, type: .string, isOptional: true)
    return ManagedObjectModel(
      name: "Drafts", id: id,
      versions: Array([version(1, [text, image]), version(2, [text, image, own])].prefix(current)),
      currentVersionNumber: current, lockedVersionNumbers: locked)
  }

  private func open(
    _ kind: StoreKind, _ model: ManagedObjectModel, _ policy: ChangedDraftPolicy = .refuse
  ) throws -> PersistentStoreCoordinator {
    var description = PersistentStoreDescription(kind.location(url))
    description.changedDraftPolicy = policy
    return try PersistentStoreCoordinator(model: model, stores: [description])
  }

  /// Makes a store with an object that has a large value.
  private func make(_ kind: StoreKind, _ model: ManagedObjectModel, text: String? = "t") throws {
    let context = ManagedObjectContext(try open(kind, model))
    let item = try context.insert(entityNamed: "Item")
    if let text { try item.setValue(.attribute(.string(text)), forKey: "text") }
    try item.setValue(.attribute(.data(Data(count: 200_000))), forKey: "image")
    try context.save()
  }

  private func count(_ coordinator: PersistentStoreCoordinator) throws -> Int {
    try ManagedObjectContext(coordinator).count(for: FetchRequest<ManagedObject>(entityName: "Item"))
  }

  private func largeFiles() -> [String] {
    (FileManager.default.subpaths(atPath: folder.path) ?? []).filter { $0.contains("-external/") }
  }

  @Test(arguments: StoreKind.files) func theErrorNamesTheRemedies(_ kind: StoreKind) throws {
    try make(kind, model("first"))
    let before = try Data(contentsOf: url)
    let error = #expect(throws: MigrationError.self) { try open(kind, model("second")) }
    guard case .losesData(let changes, isLocked: false)? = error?.reason else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(changes.contains { $0.contains("first") })
    let text = "\(try #require(error))"
    #expect(text.contains("cannot be migrated to the current draft of version 2: "), "\(text)")
    #expect(text.contains("in a new version"), "\(text)")
    #expect(text.contains("changedDraftPolicy"), "\(text)")
    #expect(try Data(contentsOf: url) == before)
  }

  @Test(arguments: StoreKind.files) func aChangedDraftsStoreIsMadeAnewWhereThatIsAskedFor(_ kind: StoreKind)
    throws
  {
    for policy in [ChangedDraftPolicy.eraseInDebugBuilds, .eraseInEveryBuild] {
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
        try FileManager.default.removeItem(at: folder.appending(path: name))
      }
      try make(kind, model("first"))
      #expect(!largeFiles().isEmpty)
      try {
        let coordinator = try open(kind, model("second"), policy)
        #expect(coordinator.migrations.map(\.hasErasedStore) == [true])
        #expect(coordinator.migrations.map(\.source) == [2])
        #expect(try count(coordinator) == 0)
        let context = ManagedObjectContext(coordinator)
        try context.insert(entityNamed: "Item").setValue(.attribute(.string("s")), forKey: "second")
        try context.insert(entityNamed: "Item").setValue(.attribute(.string("s")), forKey: "text")
        try context.save()
        #expect(try count(coordinator) == 2)
      }()
      if kind != .sqlite {
        // Somebody may still read the erased store, which nothing but a lock for writing would tell.
        #expect(!largeFiles().isEmpty)
        try kind.ageUnusedFiles(of: url)
        _ = try open(kind, model("second"))
      }
      #expect(largeFiles().isEmpty)
    }
  }

  @Test(arguments: StoreKind.files) func whatCanFollowIsNotErased(_ kind: StoreKind) throws {
    try make(kind, model("first"))
    var wider = model("first")
    wider.versions[1].entities[0].attributes.append(
      AttributeDescription(name: "more", type: .int16, defaultValue: .value(.int(1))))
    let coordinator = try open(kind, wider, .eraseInEveryBuild)
    #expect(coordinator.migrations.map(\.hasErasedStore) == [false])
    #expect(try count(coordinator) == 1)
  }

  /// Rows that have no value for what the draft demands by now.
  @Test(arguments: StoreKind.files) func valuesThatAreMissingMakeADraftIncompatible(_ kind: StoreKind) throws
  {
    try make(kind, model("first"), text: nil)
    #expect(throws: MigrationError.self) { try open(kind, model("first", mandatory: true)) }
    let coordinator = try open(kind, model("first", mandatory: true), .eraseInDebugBuilds)
    #expect(coordinator.migrations.map(\.hasErasedStore) == [true])
    #expect(try count(coordinator) == 0)
  }

  /// A store with the number of a locked version may be a user's, whatever wrote it.
  @Test(arguments: StoreKind.files) func aLockedVersionsStoreIsNeverErased(_ kind: StoreKind) throws {
    try make(kind, model("first"))
    let before = try Data(contentsOf: url)
    let error = #expect(throws: MigrationError.self) {
      try open(kind, model("second", locked: [1, 2]), .eraseInEveryBuild)
    }
    let text = "\(try #require(error))"
    #expect(text.contains("has been locked since") && !text.contains("changedDraftPolicy"), "\(text)")
    #expect(try Data(contentsOf: url) == before)
    #expect(largeFiles().count == 1)
  }

  @Test(arguments: StoreKind.files) func aStoreOfALaterVersionIsNotErased(_ kind: StoreKind) throws {
    try make(kind, model("first"))
    let error = #expect(throws: MigrationError.self) {
      try open(kind, model("first", current: 1, locked: []), .eraseInEveryBuild)
    }
    #expect(error?.reason == .newerStore(current: 1))
    #expect(try count(open(kind, model("first"))) == 1)
  }

  @Test func aStoreThatSomebodyHasOpenIsNotErased() throws {
    try make(.sqlite, model("first"))
    let reader = try open(.sqlite, model("first"))
    #expect(throws: StoreError.inUse(url)) { try open(.sqlite, model("second"), .eraseInEveryBuild) }
    #expect(try count(reader) == 1)
  }

  @Test(arguments: StoreKind.files) func aPartOfAMergedModelThatIsLockedKeepsTheStore(_ kind: StoreKind)
    throws
  {
    func merged(_ attribute: String, locked: Set<Int>) throws -> ManagedObjectModel {
      let other = ManagedObjectModel(
        name: "Other", id: UUID(uuidString: "00000000-0000-0000-0000-000000000001") ?? id,
        versions: [ModelVersion(number: 1, entities: [EntityDescription(name: "Note")])],
        currentVersionNumber: 1, lockedVersionNumbers: locked)
      return try ManagedObjectModel(merging: [model(attribute, locked: []), other])
    }
    try make(kind, merged("first", locked: [1]))
    #expect(throws: MigrationError.self) {
      try open(kind, merged("second", locked: [1]), .eraseInEveryBuild)
    }
    let coordinator = try open(kind, merged("second", locked: []), .eraseInEveryBuild)
    #expect(try count(coordinator) == 0)
  }

  /// A reference of another store must not lead to an object of the new one.
  ///
  /// The second draft loses an attribute, or has a new one that is derived from objects of another store.
  @Test(arguments: StoreKind.files + [.plain], [false, true])
  func keysOfAnErasedStoreAreNotUsedAgain(_ kind: StoreKind, counts: Bool) throws {
    var count = attribute("count", .int64, isOptional: true)
    count.derivation = try ValueExpression(format: "items.@count")
    let first = attribute("first", .string, isOptional: true)
    let second = counts ? [first, count] : [attribute("second", .string, isOptional: true)]
    func openBoth(
      _ attributes: [AttributeDescription], _ policy: ChangedDraftPolicy = .eraseInEveryBuild
    ) throws -> ManagedObjectContext {
      var version = ModelVersion(
        number: 1,
        entities: [
          entity("Album", attributes, relationships: [toMany("items", "Item", inverse: "album")]),
          entity("Item", relationships: [toOne("album", "Album", inverse: "items")]),
        ])
      version.configurations = [
        ConfigurationDescription(name: "X", entities: ["Album"]),
        ConfigurationDescription(name: "Y", entities: ["Item"]),
      ]
      let model = ManagedObjectModel(
        name: "Drafts", id: id, versions: [version], currentVersionNumber: 1, lockedVersionNumbers: [])
      let stores = version.configurations.map { configuration in
        var description = PersistentStoreDescription(
          kind.location(folder.appending(path: configuration.name)), configuration: configuration.name)
        description.changedDraftPolicy = policy
        return description
      }
      return ManagedObjectContext(try PersistentStoreCoordinator(model: model, stores: stores))
    }
    try {
      let context = try openBoth([first])
      let album = try context.insert(entityNamed: "Album")
      try context.insert(entityNamed: "Item").setValue(.object(album), forKey: "album")
      try context.save()
    }()
    let error = #expect(throws: MigrationError.self) { try openBoth(second, .refuse) }
    let text = "\(try #require(error))"
    #expect(text.contains("cannot be migrated to the current draft of version 1"), "\(text)")
    #expect(text.contains("earlier draft") && text.contains("changedDraftPolicy"), "\(text)")
    #expect(!text.contains("rule in the mapping"), "\(text)")
    let context = try openBoth(second)
    let hasErased = context.persistentStoreCoordinator.migrations.contains { $0.hasErasedStore }
    #expect(hasErased)
    _ = try context.insert(entityNamed: "Album")
    try context.save()
    let items = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item"))
    #expect(items.count == 1)
    let album = try #require(items.first).value(forKey: "album")
    #expect(album == .object(nil))
  }
}
