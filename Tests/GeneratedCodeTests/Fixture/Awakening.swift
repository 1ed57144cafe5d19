public import CDRuntime

/// What objects do when they are inserted, in the task of one test.
enum Awakening {
  @TaskLocal static var action: (@Sendable (ManagedObject) -> Void)?
}

extension Chore: ManagedObjectLifecycle {
  public func awakeFromInsert() { Awakening.action?(self) }
}

extension Painting: ManagedObjectLifecycle {
  public func awakeFromInsert() { Awakening.action?(self) }
}
