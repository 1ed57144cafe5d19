@_spi(Generated) import CDRuntime
import Foundation
import Testing

/// A deletion that cascades: each object is prepared once, while it still has its owner.
@Suite(.onceForAllKinds) struct CascadeHookTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try PersistentContainer(scratchFor: ComponentsModel.self)
    context = container.newContext()
  }

  /// Saves a component `a` with the components `b` and `c`, the first of which has the component `d`.
  private func tree(b: String = "b", d: String = "d") throws -> Component {
    let top = Component(name: "a", whole: nil, in: context)
    let part = Component(name: b, whole: top, in: context)
    _ = Component(name: "c", whole: top, in: context)
    _ = Component(name: d, whole: part, in: context)
    try context.save()
    context.transactionAuthor = "hooks"
    return top
  }

  /// What the components have noted, in no order.
  private var notes: Set<String> { Set(noteList) }
  private var noteList: [String] {
    (context.transactionAuthor ?? "").split(separator: " ").dropFirst().map(String.init)
  }

  private func storedCount() throws -> Int { try Component.objects(in: container.newContext()).count }

  @Test func everyPartStillHasItsWhole() throws {
    context.delete(try tree())
    #expect(noteList.count == 4 && notes == ["a<->2", "b<a>1", "c<a>0", "d<b>0"])
    try context.save()
    #expect(try storedCount() == 0)
  }

  @Test func aPartMayDeleteItsWhole() throws {
    context.delete(try tree(b: "b!", d: "d!"))
    #expect(noteList.count == 4 && notes == ["a<->2", "b!<a>1", "c<a>0", "d!<b!>0"])
    try context.save()
    #expect(try storedCount() == 0)
  }

  @Test func aPartsDeletionMayDeleteTheWhole() throws {
    let top = try tree(b: "b!")
    context.delete(try #require(top.parts.first { $0.name == "b!" }))
    #expect(noteList.count == 4 && notes == ["a<->2", "b!<a>1", "c<a>0", "d<b!>0"])
    #expect(top.isDeleted)
    try context.save()
    #expect(try storedCount() == 0)
  }

  /// The sibling is prepared already, and still waits for its own deletion.
  @Test(.timeLimit(.minutes(1))) func aPartMayDeleteItsSiblingsUntilNoneIsLeft() throws {
    context.delete(try tree(b: "b*"))
    #expect(noteList.count == 4)
    try context.save()
    #expect(try storedCount() == 0)
  }

  @Test func aRollbackByAPartEndsTheDeletion() throws {
    let top = try tree(d: "d?")
    context.delete(top)
    #expect(!top.isDeleted && top.parts.count == 2 && !context.hasChanges)
    try context.save()
    #expect(try storedCount() == 4)
    context.delete(try #require(top.parts.first { $0.name == "c" }))
    try context.save()
    #expect(try storedCount() == 3)
  }
}

/// An object that its whole owns. Its name says what it does when it is to be deleted.
nonisolated final class Component: CDRuntime.ManagedObject, CDRuntime.EntityClass {
  private final var _name: String = ""
  private final var _whole: CDRuntime.ObjectKey = 0
  final var name: String {
    get {
      _willRead()
      return _name
    }
    set {
      _willWrite(0)
      _name = newValue
    }
  }
  final var whole: Component? {
    get {
      _willRead()
      return _toOne(_whole, 1)
    }
    set { _setToOne(newValue, 1) }
  }
  final var parts: [Component] {
    get { _toMany(2) }
    set { _setToMany(newValue, 2) }
  }

  init(name: String, whole: Component?, in context: CDRuntime.ManagedObjectContext) {
    super.init(_seed: CDRuntime.ObjectSeed(inserting: "Component", in: context, isComplete: true))
    _name = name
    if let whole { self.whole = whole }
  }
  override init(_seed: borrowing CDRuntime.ObjectSeed) { super.init(_seed: _seed) }
  override class var entityName: String { "Component" }
  override func _decode(_ row: CDRuntime.RowReader) {
    super._decode(row)
    _name = row.string(0)
    _whole = row.key(1)
  }
  override func _encode(_ slot: Int, _ writer: CDRuntime.RowWriter) {
    switch slot {
    case 0: writer.string(_name)
    case 1: writer.key(_whole)
    default: super._encode(slot, writer)
    }
  }
  override func _setReference(_ slot: Int, _ key: CDRuntime.ObjectKey) {
    switch slot {
    case 1: _whole = key
    default: super._setReference(slot, key)
    }
  }
}

extension Component: ManagedObjectLifecycle {
  func prepareForDeletion() {
    managedObjectContext?.transactionAuthor?.append(" \(name)<\(whole?.name ?? "-")>\(parts.count)")
    if name.hasSuffix("!") { whole?.delete() }
    if name.hasSuffix("?") { managedObjectContext?.rollback() }
    if name.hasSuffix("*") {
      while let sibling = whole?.parts.first(where: { $0 !== self && !$0.isDeleted }) { sibling.delete() }
    }
  }
}

nonisolated enum ComponentsModel: CDRuntime.GeneratedModel {
  static let _definition = CDRuntime.ModelDefinition(
    format: CDRuntime.GeneratedCodeFormat1.self,
    classes: ["Component": CDRuntime.GeneratedClass(Component.self) { Component(_seed: $0) }],
    canonicalJSON: description.canonicalJSON)

  private static let description = ManagedObjectModel(
    name: "Components", id: UUID(uuidString: "2D0C6B1E-9B53-4E0B-9C0A-5F3C2B7A9D41") ?? UUID(),
    versions: [ModelVersion(number: 1, entities: [component])], currentVersionNumber: 1)

  private static let component = EntityDescription(
    name: "Component", attributes: [AttributeDescription(name: "name", type: .string)],
    relationships: [
      RelationshipDescription(name: "whole", destination: "Component", inverse: "parts"),
      RelationshipDescription(
        name: "parts", destination: "Component", isToMany: true, inverse: "whole", deleteRule: .cascade),
    ])
}
