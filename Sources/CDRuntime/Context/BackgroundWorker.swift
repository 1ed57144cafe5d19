/// The isolation of background tasks.
actor BackgroundWorker {
  private let executor = BackgroundExecutor()
  private let coordinator: PersistentStoreCoordinator

  init(_ coordinator: PersistentStoreCoordinator) {
    self.coordinator = coordinator
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func perform<R>(_ body: @Sendable (ManagedObjectContext) throws -> sending R) throws -> sending R {
    let context = ManagedObjectContext(coordinator)
    // The whole block reads one state, unless a save in it ends that state.
    context.holdSnapshots {}
    return try body(context)
  }
}
