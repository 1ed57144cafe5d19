import CDRuntime
import Foundation
import Testing

/// The values that `awakeFromInsert()` sets, and the arguments of the initialiser that follow.
@Suite struct AwakeningTests {
  /// Sets an optional attribute of each kind.
  @Sendable private static func awaken(_ object: ManagedObject) {
    if let painting = object as? Painting { painting.code = .some }
    guard let chore = object as? Chore else { return }
    chore.formerHaste = .high
    chore.extent = Extent(hours: 3)
    chore.tags = ["new"]
    chore.price = 5
    chore.photo = Data([1])
  }

  @Test(arguments: StorePlace.allCases)
  func anOmittedArgumentKeepsTheValue(place: StorePlace) throws {
    let store = try TestStore(place, SnapshotsModel.self)
    defer { store.remove() }
    let context = store.container.newContext()
    Awakening.$action.withValue(Self.awaken) { _ = Chore(heading: "Post", in: context) }
    try context.save()
    let last = try store.reopened().newContext()
    let chore = try #require(try Chore.objects(in: last).first)
    #expect(chore.heading == "Post" && chore.formerHaste == .high && chore.extent == Extent(hours: 3))
    #expect(chore.tags == ["new"] && chore.price == 5 && chore.photo == Data([1]))
  }

  @Test func anOmittedEnumerationOfTheClassItselfKeepsTheValue() throws {
    let context = try PersistentContainer(inMemoryFor: EnumsModel.self).newContext()
    withExtendedLifetime(context) {
      let painting = Awakening.$action.withValue(Self.awaken) { Painting(shade: .dark, in: context) }
      #expect(painting.shade == .dark && painting.code == .some)
    }
  }

  @Test func argumentsReplaceTheValues() throws {
    let context = try PersistentContainer(inMemoryFor: SnapshotsModel.self).newContext()
    withExtendedLifetime(context) {
      let chore = Awakening.$action.withValue(Self.awaken) {
        Chore(
          heading: "Post", formerHaste: .low, extent: Extent(hours: 1), tags: [], price: 7, photo: Data([2]),
          in: context)
      }
      #expect(chore.formerHaste == .low && chore.extent == Extent(hours: 1))
      #expect(chore.tags?.isEmpty == true && chore.price == 7 && chore.photo == Data([2]))
    }
  }
}
