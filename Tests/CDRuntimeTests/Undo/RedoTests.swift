import CDRuntime
import Foundation
import Testing

/// What an undo and its redo put back where the store, or the parent, has become another one meanwhile.
@Suite struct RedoTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let undoManager = ContextUndoManager()

  init() throws {
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Box", attributes: [AttributeDescription(name: "name", type: .string, isOptional: true)],
        relationships: [
          RelationshipDescription(
            name: "labels", destination: "Label", isToMany: true, inverse: "boxes", deleteRule: .noAction)
        ]),
      EntityDescription(
        name: "Label",
        relationships: [
          RelationshipDescription(
            name: "boxes", destination: "Box", isToMany: true, inverse: "labels", isOrdered: true)
        ]),
    ])
    context = container.newContext()
    context.undoManager = undoManager
  }

  private func box(_ name: String) throws -> ManagedObject {
    let box = try context.insert(entityNamed: "Box")
    try box.setValue(name, forKey: "name")
    return box
  }

  private func names(_ label: ManagedObject) throws -> [String] {
    try label.value(forKey: "boxes").objects.map(name)
  }

  private func name(_ box: ManagedObject) throws -> String {
    guard case .attribute(.string(let name)) = try box.value(forKey: "name") else { return "" }
    return name
  }

  @Test(arguments: [true, false]) func pairsThatNoActionHasLeftComeBack(isSaved: Bool) throws {
    let label = try context.insert(entityNamed: "Label")
    let boxes = try ["a", "b"].map(box)
    try label.setValue(boxes, forKey: "boxes")
    try context.save()
    context.delete(boxes[0])
    #expect(try names(label) == ["b"])
    if isSaved { try context.save() }
    undoManager.endEvent()
    context.undo()
    #expect(try names(label) == ["a", "b"])
    try context.save()
    let fresh = container.newContext()
    #expect(try names(fresh.existingObject(with: label.objectID)) == ["a", "b"])
    context.redo()
    try context.save()
    let other = container.newContext()
    #expect(try names(other.existingObject(with: label.objectID)) == ["b"])
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test func aRedoPutsBackWhatTheUndoHasFound() throws {
    let object = try box("a")
    undoManager.endEvent()
    let child = ManagedObjectContext(parent: context)
    child.undoManager = ContextUndoManager()
    let copy = try child.localInstance(of: object)
    try copy.setValue("b", forKey: "name")
    try child.save()
    context.undo()
    #expect(try name(copy) == "a")
    child.undo()
    child.redo()
    #expect(try name(copy) == "a" && !child.hasChanges)
    let other = try box("c")
    try context.save()
    undoManager.endEvent()
    try other.setValue("d", forKey: "name")
    try context.save()
    let theirs = container.newContext()
    try theirs.existingObject(with: other.objectID).setValue("e", forKey: "name")
    try theirs.save()
    try context.perform {
      _ = try context.count(for: FetchRequest<ManagedObject>(entityName: "Box"))
      context.undo()
      #expect(try name(other) == "c")
      context.redo()
      #expect(try name(other) == "e")
    }
  }
}

extension PropertyValue {
  fileprivate var objects: [ManagedObject] {
    if case .objects(let objects) = self { objects } else { [] }
  }
}
