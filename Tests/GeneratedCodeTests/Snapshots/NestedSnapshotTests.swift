import CDRuntime
import Foundation
import Testing

/// Snapshots that contain the snapshots of related objects.
@Suite struct NestedSnapshotTests {
  private struct Storeroom {
    let store: TestStore
    let context: ManagedObjectContext
    let shelf: Rack
    let crate: Carton
    let cold: ColdCarton

    init() throws {
      store = try TestStore(.memory, NestedSnapshotsModel.self)
      context = store.container.newContext()
      shelf = Rack(place: "north", note: "dry", in: context)
      crate = Carton(code: "A", weight: 2.5, in: context)
      cold = ColdCarton(code: "B", degrees: -18, in: context)
      shelf.crates = [cold, crate]
      crate.lid = Cover(crate: crate, colour: "red", in: context)
      for text in ["fragile", "up"] { crate.addToStickers(Sticker(text: text, in: context)) }
      cold.addToStickers(crate.stickers)
      try context.save()
    }
  }

  private func decoded<Snapshot: ObjectSnapshot>(_ snapshot: Snapshot) throws -> Snapshot {
    try JSONDecoder().decode(Snapshot.self, from: JSONEncoder().encode(snapshot))
  }

  @Test func theCallChoosesTheDepth() throws {
    let room = try Storeroom()
    let flat = room.shelf.snapshot
    #expect(flat.crates.map(\.objectID) == [room.cold.objectID, room.crate.objectID])
    #expect(flat.crates.allSatisfy { $0.snapshot == nil } && flat.neighbour == nil)
    #expect(flat == room.shelf.snapshot(depth: 0) && flat == room.shelf.snapshot(depth: -1))

    let one = room.shelf.snapshot(depth: 1)
    #expect(one != flat && one.crates.map(\.snapshot?.code) == ["B", "A"])
    #expect(one.crates[1].snapshot?.shelf == NestedSnapshot(room.shelf.objectID))
    #expect(one.crates[1].snapshot?.lid?.snapshot == nil)

    // A cycle ends at the depth.
    let three = room.shelf.snapshot(depth: 3)
    let again = three.crates[0].snapshot?.shelf?.snapshot
    #expect(again?.place == "north" && again?.crates[0].snapshot?.code == "B")
    #expect(again?.crates[0].snapshot?.shelf?.snapshot == nil)
    #expect(three.crates[1].snapshot?.lid?.snapshot?.crate?.snapshot?.code == "A")
  }

  @Test func theJSONComesBack() throws {
    let room = try Storeroom()
    for depth in 0...4 {
      let snapshot = room.shelf.snapshot(depth: depth)
      let back = try decoded(snapshot)
      #expect(back == snapshot && back.hashValue == snapshot.hashValue)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let json = String(decoding: try encoder.encode(room.shelf.snapshot(depth: 1)), as: UTF8.self)
      .replacing(/cdgen:\/\/[0-9A-F-]{36}/, with: "S")
    #expect(
      json == """
        {"crates":[{"code":"B","objectID":"S/ColdCarton/p2","shelf":"S/Rack/p1","stickers":["S/Sticker/p1","S/Sticker/p2"]},\
        {"code":"A","lid":"S/Cover/p1","objectID":"S/Carton/p1","shelf":"S/Rack/p1","stickers":["S/Sticker/p1",\
        "S/Sticker/p2"],"weight":2.5}],"note":"dry","objectID":"S/Rack/p1","place":"north"}
        """)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(NestedSnapshot<Cover.Snapshot>.self, from: Data("\"no URI\"".utf8))
    }
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(NestedSnapshot<Cover.Snapshot>.self, from: Data("{}".utf8))
    }
  }

  @Test func onlyIdentifiersAreApplied() throws {
    let room = try Storeroom()
    var snapshot = try decoded(room.shelf.snapshot(depth: 2))
    try room.shelf.apply(snapshot)
    #expect(!room.context.hasChanges)
    snapshot.crates.reverse()
    snapshot.place = "south"
    try room.shelf.apply(snapshot)
    #expect(room.shelf.crates == [room.crate, room.cold] && room.shelf.place == "south")
    let lid = try #require(room.crate.lid)
    var other = lid.snapshot(depth: 1)
    // The values of a nested snapshot are not applied.
    var nested = try #require(other.crate?.snapshot)
    nested.code = "changed"
    other.crate = NestedSnapshot(nested)
    let copy = try Cover(other, in: room.context)
    #expect(copy.colour == "red" && copy.crate == room.crate && room.crate.code == "A")
  }

  @Test func aPublicSnapshotIsMadeOfItsValues() throws {
    let room = try Storeroom()
    let snapshot = Rack.Snapshot(
      objectID: room.shelf.objectID, place: "east", crates: [NestedSnapshot(room.crate.snapshot)])
    #expect(snapshot.note == nil && snapshot.neighbour == nil)
    try room.shelf.apply(snapshot)
    #expect(room.shelf.crates == [room.crate] && room.shelf.note == nil)
  }

  @Test func optionalAttributesAreParametersOfTheInitialiser() throws {
    let room = try Storeroom()
    #expect(Rack(place: "x", in: room.context).note == nil)
    #expect(Rack(place: "x", note: "y", in: room.context).note == "y")
    #expect(ColdCarton(code: "C", degrees: 4, weight: 1, in: room.context).weight == 1)
    #expect(Sticker(in: room.context).text == nil && Sticker(text: nil, in: room.context).text == nil)
    // The same object whatever the way: nothing is left out at the save.
    try room.context.save()
    #expect(try Rack.count(in: room.context) == 3)
  }

  @Test func optionalValuesAreCompared() throws {
    let room = try Storeroom()
    var place: String?
    #expect(try Rack.fetch(where: { $0.place == place }, in: room.context).isEmpty)
    #expect(try Rack.fetch(where: { $0.place != place }, in: room.context).count == 1)
    #expect(try Rack.fetch(where: \.place == place, in: room.context).isEmpty)
    place = "north"
    #expect(try Rack.fetch(where: { $0.place == place }, in: room.context) == [room.shelf])
    #expect(try Rack.fetch(where: \.place == place, in: room.context) == [room.shelf])
    #expect(try Rack.fetch(where: \.place != place, in: room.context).isEmpty)
    let note: String? = "dry"
    #expect(try Rack.fetch(where: \.note == note, in: room.context) == [room.shelf])
    #expect(try Rack.fetch(where: { $0.note == nil }, in: room.context).isEmpty)
    #expect(try Rack.fetch(where: \.note != nil && \.place == "north", in: room.context) == [room.shelf])
  }
}
