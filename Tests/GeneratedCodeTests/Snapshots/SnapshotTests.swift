import CDRuntime
import Foundation
import Testing

/// A saved store with an object of each class that has snapshots.
private struct Office {
  let store: TestStore
  let context: ManagedObjectContext
  let chore: Chore
  let receipt: Receipt
  let warden: Warden
  let bin: Bin

  init(_ place: StorePlace = .memory) throws {
    store = try TestStore(place, SnapshotsModel.self)
    context = store.container.newContext()
    chore = Chore(heading: "Post", in: context)
    warden = Warden(name: "Ada", in: context)
    bin = Bin(label: "A", in: context)
    receipt = Receipt(relate: "paid", default: 7, chore: chore, in: context)
    chore.haste = .high
    chore.formerHaste = .low
    chore.created = Date(timeIntervalSinceReferenceDate: 700_000_000.123456)
    chore.extent = Extent(hours: 2, haste: .high, note: "by noon")
    chore.tags = ["out", "dry"]
    chore.price = Decimal(string: "12.34")
    chore.photo = Data([1, 2, 3])
    chore.warden = warden
    chore.addToHelpers([warden, Warden(name: "Ben", in: context)])
    bin.contents = [Chore(heading: "Wash", in: context), chore, Chore(heading: "Iron", in: context)]
    try context.save()
  }
}

@Suite struct SnapshotTests {
  private func decoded<Snapshot: ObjectSnapshot>(_ snapshot: Snapshot) throws -> Snapshot {
    try JSONDecoder().decode(Snapshot.self, from: JSONEncoder().encode(snapshot))
  }

  // MARK: Values

  @Test(arguments: StorePlace.allCases)
  func aSnapshotHasAllValues(place: StorePlace) throws {
    let office = try Office(place)
    defer { office.store.remove() }
    let other = try Chore.object(with: office.chore.objectID, in: office.store.reopened().newContext())
    let snapshot = other.snapshot
    #expect(snapshot.objectID == office.chore.objectID)
    #expect(snapshot.heading == "Post" && snapshot.haste == .high && snapshot.formerHaste == .low)
    #expect(snapshot.created == office.chore.created && snapshot.id == office.chore.id)
    #expect(snapshot.extent == Extent(hours: 2, haste: .high, note: "by noon"))
    #expect(snapshot.detour == Extent(hours: 1) && snapshot.tags == ["out", "dry"])
    #expect(snapshot.price == Decimal(string: "12.34") && snapshot.photo == Data([1, 2, 3]))
    #expect(snapshot.wardenName == "Ada" && !snapshot.marked)
    #expect(snapshot.warden == office.warden.objectID && snapshot.receipt == office.receipt.objectID)
    #expect(snapshot.helpers == office.chore.helpers.map(\.objectID).sorted { "\($0)" < "\($1)" })
    #expect(snapshot.similar == nil && snapshot.bin == office.bin.objectID)
    #expect(office.bin.snapshot.contents == office.bin.contents.map(\.objectID))
    #expect(office.receipt.snapshot.chore == office.chore.objectID)
    #expect(office.warden.snapshot.id == office.warden.objectID && office.warden.snapshot.matterCount == 1)
  }

  @Test func jsonGivesAnEqualValue() throws {
    let office = try Office()
    let snapshot = office.chore.snapshot
    #expect(try decoded(snapshot) == snapshot)
    #expect(try Set([decoded(snapshot), snapshot]).count == 1)
    #expect(try decoded(office.bin.snapshot) == office.bin.snapshot)
    #expect(try decoded(office.receipt.snapshot) == office.receipt.snapshot)
    let text = String(decoding: try JSONEncoder().encode(snapshot.extent), as: UTF8.self)
    #expect(text.contains(#""haste":1"#))
  }

  @Test func aSnapshotCrossesActors() async throws {
    let office = try Office()
    let snapshot = office.chore.snapshot
    let heading = await Task.detached { snapshot.heading }.value
    #expect(heading == "Post")
  }

  @Test func aSnapshotCanBeMadeOfSingleValues() throws {
    let office = try Office()
    let id = office.warden.objectID
    let snapshot = Warden.Snapshot(objectID: id, name: "Cy", matterCount: 0, matters: [], helped: [])
    try office.warden.apply(snapshot)
    #expect(office.warden.name == "Cy" && office.warden.matters.isEmpty && office.chore.warden == nil)
  }

  @Test func theStaticTypeSelectsTheSnapshot() throws {
    let office = try Office()
    let matter: Matter = office.chore
    let general: Matter.Snapshot = matter.snapshot
    #expect(general.objectID == office.chore.objectID && general.heading == "Post")
    #expect(type(of: office.chore.snapshot) == Chore.Snapshot.self)
    #expect(type(of: matter.snapshot) == Matter.Snapshot.self)
    try office.chore.apply(office.chore.snapshot)
    try matter.apply(general)
    #expect(!office.context.hasChanges)
  }

  @Test func aMandatoryRelationshipWithoutAnObjectIsNil() throws {
    let office = try Office()
    let draft = Receipt(in: office.context)
    #expect(draft.snapshot.chore == nil)
    #expect(office.context.recentErrors.isEmpty)
  }

  // MARK: Applying

  @Test(arguments: StorePlace.allCases)
  func anUnchangedSnapshotMakesNoChange(place: StorePlace) throws {
    let office = try Office(place)
    defer { office.store.remove() }
    try office.chore.apply(decoded(office.chore.snapshot))
    try office.receipt.apply(office.receipt.snapshot)
    try office.bin.apply(office.bin.snapshot)
    try office.warden.apply(office.warden.snapshot)
    #expect(!office.context.hasChanges)
    let context = office.store.container.newContext()
    try Chore.object(with: office.chore.objectID, in: context).apply(office.chore.snapshot)
    #expect(!context.hasChanges)
  }

  @Test(arguments: StorePlace.allCases)
  func whatDiffersIsSet(place: StorePlace) throws {
    let office = try Office(place)
    defer { office.store.remove() }
    var snapshot = office.chore.snapshot
    snapshot.heading = "Bank"
    snapshot.extent?.note = nil
    snapshot.tags = nil
    snapshot.warden = nil
    snapshot.helpers.removeFirst()
    snapshot.marked = true
    snapshot.wardenName = "nobody"
    var order = office.bin.snapshot
    order.contents.reverse()
    let context = office.store.container.newContext()
    let chore = try Chore.object(with: snapshot.objectID, in: context)
    try chore.apply(snapshot)
    try Bin.object(with: order.objectID, in: context).apply(order)
    #expect(Set(chore.changedValues.keys).isSuperset(of: ["heading", "extent", "tags", "warden"]))
    #expect(chore.changedValues["haste"] == nil && !chore.marked)
    try context.save()

    let last = try office.store.reopened().newContext()
    let saved = try Chore.object(with: snapshot.objectID, in: last).snapshot
    snapshot.marked = false
    snapshot.wardenName = nil
    #expect(saved == snapshot)
    #expect(try Bin.object(with: order.objectID, in: last).snapshot == order)
  }

  @Test(arguments: StorePlace.allCases)
  func aTextOfTheSameCharactersInOtherCodeUnitsIsSet(place: StorePlace) throws {
    let office = try Office(place)
    defer { office.store.remove() }
    office.chore.heading = "Cafe\u{301}"
    office.chore.extent = Extent(hours: 2, note: "Cafe\u{301}")
    try office.context.save()
    var snapshot = office.chore.snapshot
    snapshot.heading = "Caf\u{E9}"
    snapshot.extent?.note = "Caf\u{E9}"
    try office.chore.apply(snapshot)
    #expect(Set(office.chore.changedValues.keys).isSuperset(of: ["heading", "extent"]))
    try office.context.save()
    let last = try office.store.reopened().newContext()
    let saved = try Chore.object(with: snapshot.objectID, in: last)
    #expect(saved.heading.unicodeScalars.count == 4 && saved.extent?.note?.unicodeScalars.count == 4)
    #expect(try Chore.objects(matching: \.heading, "Caf\u{E9}", in: last) == [saved])
  }

  @Test func anUnchangedSnapshotKeepsAnUnknownCase() throws {
    let office = try Office(.file)
    defer { office.store.remove() }
    try office.store.execute("UPDATE Matter SET formerHaste = 9")
    let context = try office.store.reopened().newContext()
    let chore = try Chore.object(with: office.chore.objectID, in: context)
    var snapshot = chore.snapshot
    snapshot.price = 1
    try chore.apply(snapshot)
    #expect(Set(chore.changedValues.keys) == ["price"])
  }

  @Test func anOrderOfAnUnorderedRelationshipIsNoChange() throws {
    let office = try Office()
    var snapshot = office.chore.snapshot
    snapshot.helpers = snapshot.helpers.reversed() + snapshot.helpers
    try office.chore.apply(snapshot)
    #expect(!office.context.hasChanges)
  }

  @Test func aMissingObjectChangesNothing() throws {
    let office = try Office()
    var snapshot = office.chore.snapshot
    let gone = Warden(name: "Cy", in: office.context)
    try office.context.save()
    office.context.delete(gone)
    try office.context.save()
    snapshot.heading = "Bank"
    snapshot.warden = nil
    snapshot.helpers.append(gone.objectID)
    let error = SnapshotError.missingObject(entity: "Chore", property: "helpers", id: gone.objectID)
    #expect(throws: error) { try office.chore.apply(snapshot) }
    #expect(throws: error) { try Chore(snapshot, in: office.context) }
    #expect(!office.context.hasChanges && office.chore.heading == "Post")
    #expect("\(error)".contains("'Chore.helpers'"))
  }

  @Test func anObjectOfAnotherEntityOrStoreIsRefused() throws {
    let office = try Office()
    var snapshot = office.chore.snapshot
    snapshot.warden = office.bin.objectID
    #expect(
      throws: SnapshotError.wrongEntity(
        entity: "Chore", property: "warden", id: office.bin.objectID, expected: "Warden")
    ) { try office.chore.apply(snapshot) }
    let elsewhere = try Office()
    snapshot.warden = elsewhere.warden.objectID
    #expect(
      throws: SnapshotError.missingObject(
        entity: "Chore", property: "warden", id: elsewhere.warden.objectID)
    ) { try office.chore.apply(snapshot) }
    #expect(!office.context.hasChanges)
  }

  @Test func aDeletedObjectTakesNoSnapshot() throws {
    let office = try Office()
    let snapshot = office.receipt.snapshot
    office.context.delete(office.receipt)
    #expect(throws: SnapshotError.inaccessible(entity: "Receipt", id: snapshot.objectID)) {
      try office.receipt.apply(snapshot)
    }
  }

  // MARK: Inserting

  @Test(arguments: StorePlace.allCases)
  func aSnapshotIsInsertedInAnotherContext(place: StorePlace) throws {
    let office = try Office(place)
    defer { office.store.remove() }
    var snapshot = try decoded(office.chore.snapshot)
    snapshot.receipt = nil
    let context = office.store.container.newContext()
    let copy = try Chore(snapshot, in: context)
    #expect(copy.objectID != snapshot.objectID && copy.isInserted)
    try context.save()
    snapshot.objectID = copy.objectID
    let last = try office.store.reopened().newContext()
    #expect(try Chore.object(with: copy.objectID, in: last).snapshot == snapshot)
    #expect(try Warden.object(with: office.warden.objectID, in: last).matters.count == 2)
  }

  @Test(arguments: StorePlace.allCases)
  func relatedObjectsOfAwakeningThatTheSnapshotLacksAreRemoved(place: StorePlace) throws {
    let office = try Office(place)
    defer { office.store.remove() }
    var snapshot = office.chore.snapshot
    snapshot.receipt = nil
    snapshot.warden = nil
    snapshot.helpers = []
    let draft = snapshot
    let relate: @Sendable (ManagedObject) -> Void = { object in
      guard let chore = object as? Chore, let context = chore.managedObjectContext else { return }
      let warden = Warden(name: "Eve", in: context)
      chore.warden = warden
      chore.addToHelpers(warden)
    }
    let copy = try Awakening.$action.withValue(relate) { try Chore(draft, in: office.context) }
    #expect(copy.warden == nil && copy.helpers.isEmpty && copy.bin === office.bin)
    try office.context.save()
    let last = try office.store.reopened().newContext()
    let saved = try Chore.object(with: copy.objectID, in: last)
    #expect(saved.warden == nil && saved.helpers.isEmpty)
  }

  @Test func aMandatoryRelationshipWithoutAnObjectIsFoundBySaving() throws {
    let office = try Office()
    var snapshot = office.receipt.snapshot
    snapshot.chore = nil
    _ = try Receipt(snapshot, in: office.context)
    #expect(throws: SaveError.self) { try office.context.save() }
  }
}
