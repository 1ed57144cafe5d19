import CDMigrationTesting
import CDRuntime
import Foundation
import Testing

/// The app's own part of the step of the case CustomMigration, which has something of everything: another type, enums,
/// composites, JSON, relationships, an entity split off, objects left out.
private final class ErrandMigrations: CustomMigrationModel.Migrations {
  private var owners: [String: CustomMigrationModel.NewVersion2.ErrandOwner] = [:]
  private var log: [String] = []

  struct Refused: Error {}

  func beginStep1To2(in manager: MigrationManager) throws { log.append("begin") }

  func makeErrand(
    from source: CustomMigrationModel.Version1.Errand, in manager: MigrationManager
  ) throws -> CustomMigrationModel.NewVersion2.Errand? {
    let parts = source.name.split(separator: ":", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { return nil }
    let time = source.duration.split(separator: ":").compactMap { Int32($0) }
    let owner =
      try owners[parts[0]] ?? CustomMigrationModel.NewVersion2.ErrandOwner(name: parts[0], in: manager)
    owners[parts[0]] = owner
    let made = try CustomMigrationModel.NewVersion2.Errand(
      from: source, minutes: time.reduce(0) { $0 * 60 + $1 }, slug: parts[1].lowercased(),
      spot: source.spot.map(Self.converted), home: Self.converted(source.home), owner: owner, in: manager)
    made.name = parts[1]
    if source.mood == .high { made.mood = .mid }
    return made
  }

  func relateErrand(
    _ destination: CustomMigrationModel.NewVersion2.Errand, from source: CustomMigrationModel.Version1.Errand,
    in manager: MigrationManager
  ) throws {
    log.append("relate")
    // The successor is found on the other side as well as by inference.
    if let next = source.next,
      let made: CustomMigrationModel.NewVersion2.Errand = try manager.destination(of: next)
    {
      destination.rank = Int64(made.minutes)
    }
  }

  func endStep1To2(in manager: MigrationManager) throws { log.append("end") }

  func validateStep1To2(in manager: MigrationManager) throws {
    #expect(log.first == "begin" && log.last == "end")
    let count = try manager.destinationContext.count(for: FetchRequest<ManagedObject>(entityName: "Errand"))
    #expect(log.count == count + 2)
    if count == 0 { throw Refused() }
  }

  private static func converted(_ spot: CustomMigrationModel.Version1.Stop)
    -> CustomMigrationModel.Version2.Stop
  {
    .init(street: spot.street, city: spot.city, urgency: spot.urgency == .high ? .mid : .low, zip: "?")
  }
}

/// Finds what a mandatory relationship leads to when all objects are there.
private struct LateMigrations: CustomMigrationModel.Migrations {
  let findsOwner: Bool

  func makeErrand(
    from source: CustomMigrationModel.Version1.Errand, in manager: MigrationManager
  ) throws -> CustomMigrationModel.NewVersion2.Errand? {
    try .init(
      from: source, minutes: 0, slug: source.name, spot: nil, home: .init(street: "", zip: ""), owner: nil,
      in: manager)
  }

  func relateErrand(
    _ destination: CustomMigrationModel.NewVersion2.Errand, from source: CustomMigrationModel.Version1.Errand,
    in manager: MigrationManager
  ) throws {
    if findsOwner {
      destination.owner = try CustomMigrationModel.NewVersion2.ErrandOwner(
        name: source.list.name, in: manager)
    }
  }
}

/// Reads the JSON of the old version, and writes that of the new one.
private struct SettingsMigrations: CustomMigrationModel.Migrations {
  func makeErrand(
    from source: CustomMigrationModel.Version1.Errand, in manager: MigrationManager
  ) throws -> CustomMigrationModel.NewVersion2.Errand? {
    let owner = try CustomMigrationModel.NewVersion2.ErrandOwner(name: source.name, in: manager)
    let made = try CustomMigrationModel.NewVersion2.Errand(
      from: source, minutes: 0, slug: source.name, spot: nil, home: .init(street: "", zip: ""), owner: owner,
      in: manager)
    let old = try JSONDecoder().decode([String: Int].self, from: source.settings)
    made.settings = try JSONEncoder().encode(old.mapValues { $0 + 1 })
    made.history = source.history == nil ? Data("[1]".utf8) : nil
    return made
  }
}

@Suite struct CustomMigrationTests {
  @Test func codablesAreReadAndWrittenAsJSON() throws {
    let old = try VersionedStore(
      of: CustomMigrationModel.self, version: 1, migrations: { SettingsMigrations() })
    let list = try old.insert("ErrandList", ["name": "Today"])
    for name in ["a", "b"] {
      var values: [String: StoredValue] = [
        "name": .init(name), "due": .init(Date()), "duration": "", "home": spot("", 0),
        "settings": .json(#"{"x":1,"y":-1}"#), "list": .object(list),
      ]
      if name == "a" { values["history"] = .json("[5,6]") }
      try old.insert("Errand", values)
    }
    let errands = try Errand.fetch(sortedBy: \.slug, in: old.migrated().newContext())
    #expect(errands.map(\.settings) == [["x": 2, "y": 0], ["x": 2, "y": 0]])
    #expect(errands.map(\.history) == [nil, [Date(timeIntervalSinceReferenceDate: 1)]])
    // The old store has what it had.
    #expect(
      try old.snapshots(CustomMigrationModel.Version1.Errand.self).map(\.settings)
        == Array(repeating: Data(#"{"x":1,"y":-1}"#.utf8), count: 2))
  }

  private func store() throws -> VersionedStore {
    try VersionedStore(of: CustomMigrationModel.self, version: 1, migrations: { ErrandMigrations() })
  }

  private func spot(_ street: String, _ urgency: Int64) -> StoredValue {
    .fields(["street": .string(street), "city": .null, "urgency": .int(urgency)])
  }

  @Test func everyKindOfPropertyIsReadAndMade() throws {
    let old = try store()
    let list = try old.insert("ErrandList", ["name": "Today"])
    let label = try old.insert("ErrandLabel", ["title": "shop"])
    let due = Date(timeIntervalSinceReferenceDate: 1000.25)
    let milk = try old.insert(
      "Errand",
      [
        "name": "Ann:Milk", "due": .init(due), "duration": "1:30", "urgency": 1, "mood": 1,
        "spot": spot("Main", 1), "home": spot("Side", 0), "settings": .json(#"{"a":1}"#),
        "history": .json("[1]"), "price": .init(Decimal(2.5)), "list": .object(list),
        "labels": .objects([label]),
      ])
    let bread = try old.insert(
      "Errand",
      [
        "name": "Ann:Bread", "due": .init(due), "duration": "20", "home": spot("Side", 1),
        "settings": .json("{}"), "list": .object(list), "next": .object(milk),
      ])
    try old.insert(
      "Errand",
      [
        "name": "nothing", "due": .init(due), "duration": "", "home": spot("", 0), "settings": .json("{}"),
        "list": .object(list),
      ])
    let new = try old.migrated()
    let snapshots = try old.snapshots(CustomMigrationModel.Version1.Errand.self)
    #expect(snapshots.map(\.name) == ["Ann:Milk", "Ann:Bread", "nothing"])
    #expect(snapshots[0].urgency == .high && snapshots[1].urgency == .low && snapshots[1].mood == nil)
    #expect(snapshots[0].spot?.street == "Main" && snapshots[1].spot == nil)
    #expect(snapshots[0].settings == Data(#"{"a":1}"#.utf8) && snapshots[1].history == nil)
    #expect(snapshots[0].price == Decimal(2.5) && snapshots[1].next?.name == "Ann:Milk")
    #expect(snapshots[0].list.name == "Today" && snapshots[0].list.errands.count == 3)
    #expect(snapshots[0].labels.map(\.title) == ["shop"])

    let context = try new.newContext()
    let errands = try Errand.fetch(sortedBy: \.minutes, in: context)
    #expect(errands.map(\.name) == ["Bread", "Milk"])
    let made = try #require(errands.last)
    #expect(made.minutes == 90 && made.slug == "milk" && made.due == due && made.rank == 7)
    #expect(made.urgency == .high && made.mood == .mid && made.price == 2.5)
    #expect(made.spot == Stop(street: "Main", urgency: .mid, zip: "?"))
    #expect(made.home == Stop(street: "Side", urgency: .low, zip: "?"))
    #expect(made.settings == ["a": 1] && made.history == [Date(timeIntervalSinceReferenceDate: 1)])
    #expect(made.list.name == "Today" && made.labels.map(\.title) == ["shop"])
    #expect(errands[0].next === made && errands[0].rank == 90 && errands[0].spot == nil)
    #expect(made.owner === errands[0].owner && made.owner.name == "Ann")
    #expect(try ErrandOwner.objects(in: context).count == 1)
    #expect(made.list.errands.map(\.name) == ["Milk", "Bread"])
    #expect(try new.counterpart(of: bread, from: old)?.value(forKey: "name").attribute == .string("Bread"))
    #expect(try new.differences(from: old) == [])
    // What the app made otherwise than inference would have.
    #expect(
      try new.differences(from: old, includingCustom: true).map(\.kind).contains(.property("name")))
  }

  @Test(arguments: [true, false])
  func aMandatoryRelationshipMayComeLate(findsOwner: Bool) throws {
    let old = try VersionedStore(
      of: CustomMigrationModel.self, version: 1, migrations: { LateMigrations(findsOwner: findsOwner) })
    try old.insertSamples()
    guard findsOwner else {
      #expect(throws: MigrationError.self) { try old.migrated() }
      return
    }
    let context = try old.migrated().newContext()
    let errand = try #require(try Errand.objects(in: context).first)
    #expect(errand.owner.name == errand.list.name && errand.spot == nil && !errand.slug.isEmpty)
  }

  @Test func whatTheAppRefusesLeavesTheStoreAsItWas() throws {
    let old = try store()
    let list = try old.insert("ErrandList", ["name": "Today"])
    try old.insert(
      "Errand",
      [
        "name": "nothing", "due": .init(Date()), "duration": "", "home": spot("", 0), "settings": .json("{}"),
        "list": .object(list),
      ])
    #expect {
      try old.migrated()
    } throws: { error in
      guard let error = error as? MigrationError, case .policyFailed(let reason) = error.reason else {
        return false
      }
      return reason.contains("Refused")
    }
    #expect(try old.count(of: "Errand") == 1)
  }
}

/// The steps of the case CustomMigrationMany, by a stub of `cdgen stub` that was filled in.
@Suite struct CustomMigrationManyTests {
  private func store() throws -> VersionedStore {
    try VersionedStore(
      of: CustomMigrationManyModel.self, version: 1, migrations: { CustomMigrationManyMigrations() })
  }

  @Test func eachStepIsServedByItsOwnRequirements() throws {
    let old = try store()
    let shelf = try old.insert("MediaShelf", ["label": "A"])
    let walden = try old.insert(
      "Novel", ["title": "Walden", "code": "12", "pages": 352, "shelf": .object(shelf)])
    try old.insert("Novel", ["title": "Typee", "code": "x", "pages": 300, "shelf": .object(shelf)])
    try old.insert(
      "Record", ["title": "Kind of Blue", "code": "7", "minutes": "45", "shelf": .object(shelf)])
    for (first, last, isGuest) in [("Ada", "Lovelace", false), ("Bo", "Ek", true), ("Cy", "Nobody", true)] {
      try old.insert("Visitor", ["first": .init(first), "last": .init(last), "isGuest": .init(isGuest)])
    }
    let steps = try old.migratedStepByStep()
    #expect(steps.map(\.version.number) == [2, 3])
    #expect(try steps[0].snapshots(CustomMigrationManyModel.Version2.Novel.self).map(\.code) == [12, -1])
    #expect(try steps[0].count(of: "Medium") == 3)
    #expect(try steps[0].count(of: "Reader") == 2)
    let direct = try old.migrated()
    for store in [steps[1], direct] {
      let context = try store.newContext()
      let novels = try Novel.fetch(sortedBy: \.code, in: context)
      #expect(novels.map(\.title) == ["Typee", "Walden"] && novels.map(\.chapters) == [2, 2])
      #expect(novels.allSatisfy { $0.shelf?.room == "Hall" && $0.shelf?.media.count == 3 })
      #expect(try Record.objects(in: context).map(\.minutes) == [45])
      #expect(
        try Set(Reader.objects(in: context).map { $0.name + "/" + $0.initials }) == [
          "Ada Lovelace/AL", "Bo/B",
        ])
      #expect(try Set(Guest.objects(in: context).map(\.badge)) == [2, 6])
      #expect(try Set(Statistic.objects(in: context).map(\.key)) == ["a", "b"])
      let now = try #require(try store.counterpart(of: walden, from: old))
      #expect(try now.value(forKey: "title").attribute == .string("Walden"))
      #expect(try store.differences(from: old) == [])
    }
  }
}

/// The app's own part of the step of the case CustomNaming, whose entities and properties have the names of what
/// generated code declares.
private struct NamingMigrations: CustomNamingModel.Migrations {
  func makeVersion1(
    from source: CustomNamingModel.Version1.Version1, in manager: MigrationManager
  ) throws -> CustomNamingModel.NewVersion2.Version1? {
    try .init(
      from: source, object: Int64(source.object.count), source: Int64(source.source.count),
      manager: Int64(source.manager.count), in: manager)
  }

  func makeMigrationsInStep1To2(in manager: MigrationManager) throws {
    _ = try CustomNamingModel.NewVersion2.Migrations(name: "one", made: true, in: manager)
  }
}

@Suite struct CustomNamingTests {
  @Test func namesOfGeneratedCodeAreNamesOfAModelToo() throws {
    let old = try VersionedStore(of: CustomNamingModel.self, version: 1, migrations: { NamingMigrations() })
    let samples = try old.insertSamples()
    let sample = try #require(samples["Version1"])
    let context = try old.migrated().newContext()
    let object = try #require(try Version1.objects(in: context).first)
    #expect(try sample.value(forKey: "in").attribute == .int(object.in))
    #expect(object.object > 0 && object.migrations?.for == [object])
    #expect(try Migrations.objects(in: context).map(\.made) == [true])
  }
}
