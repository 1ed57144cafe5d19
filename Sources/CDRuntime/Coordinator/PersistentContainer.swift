#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A model with its stores, and the contexts to work with them.
///
/// ```swift
/// let container = try PersistentContainer(for: ToDoModel.self, at: url)
/// let todos = try ToDo.objects(in: container.viewContext)
/// try await container.performBackgroundTask { context in
///   _ = Category(name: "Home", in: context)
///   try context.save()
/// }
/// ```
///
/// ## Topics
///
/// ### Opening a store
/// - ``init(for:at:)-(_,URL)``
/// - ``init(for:at:)-(_,StoreLocation)``
/// - ``init(for:app:)``
/// - ``init(for:stores:)-(GeneratedModel.Type,_)``
/// - ``init(for:stores:)-6hofu``
/// - ``init(model:at:)-(_,URL)``
/// - ``init(model:at:)-(_,StoreLocation)``
/// - ``init(_:)``
/// - ``defaultDirectoryURL(forApp:)``
///
/// ### With the app's own migrations
/// - ``init(for:migrations:at:)-(_,_,URL)``
/// - ``init(for:migrations:at:)-(_,_,StoreLocation)``
/// - ``init(for:migrations:app:)``
/// - ``init(for:migrations:stores:)``
/// - ``ModelWithMigrations``
///
/// ### In memory
/// - ``init(inMemoryFor:)``
/// - ``init(inMemoryModel:)``
///
/// ### Contexts
/// - ``viewContext``
/// - ``automaticallyMergesChangesFromParent``
/// - ``newContext()``
/// - ``performBackgroundTask(_:)``
public final class PersistentContainer: Sendable {
  /// The coordinator, with the model and the stores that the container's contexts share.
  public let persistentStoreCoordinator: PersistentStoreCoordinator

  /// The context of the main actor. It reads one snapshot of the store during a turn of the main actor.
  ///
  /// If the container is released on another thread, its context is released in a later turn of the main actor, and keeps the
  /// stores open until then. So the main thread must not wait for a thread that opens or destroys the store again.
  @MainActor public var viewContext: ManagedObjectContext { view.context }

  /// Whether ``viewContext`` merges the saves of other contexts and processes as they happen. It merges saves of other
  /// contexts at once, and saves of other processes within a quarter of a second. If the value is false, it merges them
  /// only when it reads the next time. A screen that only shows what it has read does not read again. The default is
  /// false.
  ///
  /// If you set the value to true, the context also merges what was saved before, as soon as the store can be read. The merging
  /// ends with the container.
  ///
  /// If the history is purged of saves that the context has not merged, the context reads everything again. If a store cannot
  /// be read, the context tries again until it can.
  ///
  /// ```swift
  /// container.automaticallyMergesChangesFromParent = true
  /// for await changes in container.viewContext.changes { print(changes.refreshed) }
  /// ```
  @MainActor public var automaticallyMergesChangesFromParent: Bool {
    get { view.merging != nil }
    set { view.merge(newValue) }
  }

  private let view: ViewContext

  /// Opens the store of a model. An existing file is opened in its own format, whatever its name. If there is no file,
  /// a SQLite store is created; pass a ``StoreLocation`` for another format.
  ///
  /// - Throws: ``ModelError`` or ``StoreError``. An existing store is then unchanged.
  public convenience init(for model: any GeneratedModel.Type, at url: URL) throws {
    try self.init(for: model, at: StoreLocation(recognizing: url))
  }

  /// Opens the store of a model at any location: a file of a given format, memory, or a server.
  ///
  /// ```swift
  /// let container = try PersistentContainer(for: ToDoModel.self, at: .xml(url))
  /// ```
  ///
  /// - Throws: ``ModelError`` or ``StoreError``. An existing store is then unchanged.
  public convenience init(for model: any GeneratedModel.Type, at location: StoreLocation) throws {
    self.init(try PersistentStoreCoordinator(for: model, at: location))
  }

  /// Opens the store of a model without generated classes. An existing file is opened in its own format.
  ///
  /// - Throws: ``ModelError`` or ``StoreError``. An existing store is then unchanged.
  public convenience init(model: ManagedObjectModel, at url: URL) throws {
    try self.init(model: model, at: StoreLocation(recognizing: url))
  }

  /// Opens the store of a model without generated classes at any location.
  ///
  /// - Throws: ``ModelError`` or ``StoreError``. An existing store is then unchanged.
  public convenience init(model: ManagedObjectModel, at location: StoreLocation) throws {
    self.init(try PersistentStoreCoordinator(model: model, at: location))
  }

  /// Opens several stores, each for a configuration of the model.
  ///
  /// - Throws: ``ModelError`` or ``StoreError``. If a later store fails, earlier ones
  ///   may already be migrated: see <doc:MigratingStores>.
  public convenience init(
    for model: any GeneratedModel.Type, stores: [PersistentStoreDescription]
  ) throws {
    self.init(try PersistentStoreCoordinator(for: model, stores: stores))
  }

  /// Opens stores for several models: see ``PersistentStoreCoordinator/init(for:stores:)-3w0hq``.
  ///
  /// - Throws: `ModelMergeError`, ``ModelError`` or ``StoreError``. If a later store fails, earlier ones
  ///   may already be migrated: see <doc:MigratingStores>.
  public convenience init(
    for models: [any GeneratedModel.Type], stores: [PersistentStoreDescription]
  ) throws {
    self.init(try PersistentStoreCoordinator(for: models, stores: stores))
  }

  /// Creates a store in memory, for tests and previews.
  public convenience init(inMemoryFor model: any ModelDeclaration.Type) throws {
    self.init(
      try PersistentStoreCoordinator(
        for: [ModelWithMigrations(declaration: model)], stores: [PersistentStoreDescription(.inMemory)]))
  }

  /// Creates a store in memory, for a model without generated classes.
  public convenience init(inMemoryModel model: ManagedObjectModel) throws {
    self.init(try PersistentStoreCoordinator(model: model, at: .inMemory))
  }

  /// Creates a container for stores that are already open.
  public init(_ coordinator: PersistentStoreCoordinator) {
    persistentStoreCoordinator = coordinator
    view = ViewContext(coordinator)
  }

  /// Creates a context for the isolation of the caller.
  public func newContext() -> sending ManagedObjectContext {
    ManagedObjectContext(persistentStoreCoordinator)
  }

  /// Runs a block on a thread of its own, with a new context.
  ///
  /// The block reads one snapshot of the store and its own saves. Changes that it does not save are lost.
  public func performBackgroundTask<R>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> sending R
  ) async throws -> sending R {
    try await BackgroundWorker(persistentStoreCoordinator).perform(body)
  }
}

/// Creates the main actor's context at its first use.
@MainActor private final class ViewContext {
  private let coordinator: PersistentStoreCoordinator
  /// Nil before the first use.
  private var owner: ViewContextOwner?

  var context: ManagedObjectContext {
    if let context = owner?.context { return context }
    let context = ManagedObjectContext(coordinator)
    _ = MainActorTurns(of: context)
    owner = ViewContextOwner(context)
    return context
  }

  nonisolated init(_ coordinator: PersistentStoreCoordinator) {
    self.coordinator = coordinator
  }

  /// The task that merges the saves of others; nil if they are not merged.
  private(set) var merging: Task<Void, Never>?

  func merge(_ isWanted: Bool) {
    guard isWanted != (merging != nil) else { return }
    merging?.cancel()
    merging = nil
    guard isWanted else { return }
    // The task does not retain the view context while it waits.
    merging = Task { @MainActor [weak self] in await ViewContext.mergeSaves { self } }
  }

  private typealias Saves = AsyncThrowingStream<HistoryTransaction, any Error>

  /// Merges saves into the context until the task is cancelled or the view context is released.
  ///
  /// - Parameter current: Returns the view context; nil if it was released.
  private static func mergeSaves(into current: () -> ViewContext?) async {
    while !Task.isCancelled {
      do {
        guard let saves = try await begin(current) else { return }
        // After the stream has begun, so that no save is missed. The stream does not report what was saved before.
        guard !Task.isCancelled, try learnOfSaves(current) else { return }
        for try await _ in saves {
          guard try learnOfSaves(current) else { return }
        }
        return
      } catch {
        // Saves were purged from the history before the stream had them, or a store cannot be read now.
        try? await Task.sleep(for: HistoryWatcher.interval)
      }
    }
  }

  /// Merges all saves until now.
  ///
  /// - Returns: False if the view context was released.
  private static func learnOfSaves(_ current: () -> ViewContext?) throws -> Bool {
    guard let view = current() else { return false }
    try view.context.learnOfSaves()
    return true
  }

  /// Begins a stream of saves. Nil if the view context was released; it is not retained while a server lets the attempt wait.
  private static func begin(_ current: () -> ViewContext?) async throws -> Saves? {
    guard let coordinator = current()?.coordinator else { return nil }
    return try await begin(coordinator)
  }

  /// Begins a stream of saves outside the main actor, which must not wait for a server that does not answer.
  @concurrent private nonisolated static func begin(_ coordinator: PersistentStoreCoordinator) async throws
    -> Saves
  {
    try coordinator.changes()
  }

  deinit {
    merging?.cancel()
    guard let owner, !MainQueue.isCurrent else { return }
    // The last reference to a container can go on any thread, while the main actor uses the context's objects.
    Task { @MainActor in owner.release() }
  }
}

/// The only reference of a container to its main actor's context. It can be passed to the main actor.
@MainActor private final class ViewContextOwner {
  private(set) var context: ManagedObjectContext?

  init(_ context: ManagedObjectContext) { self.context = context }

  func release() { context = nil }
}

/// Ends in the main actor's next turn what its context holds during a turn. The context retains this object, because it
/// can outlive its container.
@MainActor private final class MainActorTurns {
  private weak var context: ManagedObjectContext?
  private let engine: any StoreEngine

  init(of context: ManagedObjectContext) {
    self.context = context
    engine = context.engine
    // The context's closures retain this object. The tasks must not: they would keep the files of a released container open
    // until the next turn, which may never come.
    context.holdSnapshots { [self] in
      Task { @MainActor [weak self] in self?.context?.endReading() }
    }
    context.undoRegistration.endEvents { [self] in
      Task { @MainActor [weak self] in self?.context?.endUndoEvent() }
    }
    engine.observeRemovals(self) { [weak self] in
      Task { @MainActor in self?.context?.noticeRemovalsNow() }
    }
  }

  deinit { engine.stopObservingRemovals(ObjectIdentifier(self)) }
}

extension PersistentContainer {
  /// The default folder for the stores of an app. It has the app's name and is in Application Support on Apple systems,
  /// and in `$XDG_DATA_HOME` (or `~/.local/share`) on other systems.
  ///
  /// - Parameter name: The app's name. The default is the name of the program.
  @_optimize(none)
  public static func defaultDirectoryURL(forApp name: String? = nil) -> URL {
    let program = CommandLine.arguments.first.map { URL(filePath: $0).lastPathComponent } ?? ""
    let name = name ?? (program.isEmpty ? "cdgen" : program)
    #if canImport(Darwin)
      return URL.applicationSupportDirectory.appending(path: name)
    #else
      // The standard requires an absolute path, and says to ignore any other path.
      let environment = ProcessInfo.processInfo.environment
      let data =
        environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? URL(filePath: $0) : nil }
        ?? URL.homeDirectory.appending(path: ".local/share")
      return data.appending(path: name)
    #endif
  }

  /// Opens the store of a model in the platform's folder for app data. The file is `NAME.sqlite`, with the model's
  /// name, in ``defaultDirectoryURL(forApp:)``. The folder is created if it does not exist.
  ///
  /// - Throws: ``ModelError`` or ``StoreError``. An existing store is then unchanged.
  public convenience init(for model: any GeneratedModel.Type, app: String? = nil) throws {
    try self.init(for: model, at: Self.storeURL(of: model, app: app))
  }

  /// The default location of a model's store. Its folder is created if it does not exist.
  static func storeURL(of model: any ModelDeclaration.Type, app: String?) throws -> URL {
    let folder = Self.defaultDirectoryURL(forApp: app)
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch {
      throw StoreError.cannotCreate(folder, reason: "\(error)")
    }
    return folder.appending(path: model.model.name + ".sqlite")
  }
}

// Models whose stores need the app's own code to migrate.
extension PersistentContainer {
  /// Opens the store of a model with custom migration steps, or creates the store.
  ///
  /// The app's own code is created for each migration.
  ///
  /// - Throws: ``ModelError``, ``StoreError`` or ``MigrationError``. An existing store is then unchanged.
  public convenience init<Model: CustomMigratingModel>(
    for model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations, at url: URL
  ) throws {
    try self.init(for: model, migrations: migrations, at: StoreLocation(recognizing: url))
  }

  /// Opens the store of a model with custom migration steps at any location, or creates the store.
  ///
  /// The app's own code is created for each migration.
  ///
  /// - Throws: ``ModelError``, ``StoreError`` or ``MigrationError``. An existing store is then unchanged.
  public convenience init<Model: CustomMigratingModel>(
    for model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations,
    at location: StoreLocation
  ) throws {
    self.init(try PersistentStoreCoordinator(for: model, migrations: migrations, at: location))
  }

  /// Opens the store of a model with custom migration steps, in the platform's folder for app data: see
  /// ``init(for:app:)``.
  ///
  /// The app's own code is created for each migration.
  ///
  /// - Throws: ``ModelError``, ``StoreError`` or ``MigrationError``. An existing store is then unchanged.
  public convenience init<Model: CustomMigratingModel>(
    for model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations, app: String? = nil
  ) throws {
    try self.init(for: model, migrations: migrations, at: Self.storeURL(of: model, app: app))
  }

  /// Opens several stores of a model with custom migration steps, each for a configuration.
  ///
  /// The app's own code is created for each migration. A store's own ``PersistentStoreDescription/migrationPolicies``
  /// take precedence.
  ///
  /// - Throws: ``ModelError``, ``StoreError`` or ``MigrationError``. If a later store fails, earlier ones
  ///   may already be migrated: see <doc:MigratingStores>.
  public convenience init<Model: CustomMigratingModel>(
    for model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations,
    stores: [PersistentStoreDescription]
  ) throws {
    self.init(try PersistentStoreCoordinator(for: model, migrations: migrations, stores: stores))
  }

  /// Opens stores for several models, some of which have custom migration steps.
  ///
  /// - Throws: `ModelMergeError`, ``ModelError``, ``StoreError`` or ``MigrationError``. If a later store
  ///   fails, earlier ones may already be migrated: see <doc:MigratingStores>.
  public convenience init(for models: [ModelWithMigrations], stores: [PersistentStoreDescription]) throws {
    self.init(try PersistentStoreCoordinator(for: models, stores: stores))
  }
}

// Initializers that do not compile; their messages say what to write instead.
extension PersistentContainer {
  @available(
    *, unavailable,
    message: "the model has custom migration steps: pass 'migrations: { … }' with a type that implements them"
  )
  public convenience init(for model: any CustomMigratingModel.Type, at url: URL) throws {
    throw ModelError.unreadable(model: "\(model)", reason: "its migrations are not given")
  }

  @available(
    *, unavailable,
    message: "the model has custom migration steps: pass 'migrations: { … }' with a type that implements them"
  )
  public convenience init(for model: any CustomMigratingModel.Type, at location: StoreLocation) throws {
    throw ModelError.unreadable(model: "\(model)", reason: "its migrations are not given")
  }

  @available(
    *, unavailable,
    message: "the model has custom migration steps: pass 'migrations: { … }' with a type that implements them"
  )
  public convenience init(for model: any CustomMigratingModel.Type, app: String? = nil) throws {
    throw ModelError.unreadable(model: "\(model)", reason: "its migrations are not given")
  }

  @available(
    *, unavailable,
    message: "the model has custom migration steps: pass 'migrations: { … }' with a type that implements them"
  )
  public convenience init(
    for model: any CustomMigratingModel.Type, stores: [PersistentStoreDescription]
  ) throws {
    throw ModelError.unreadable(model: "\(model)", reason: "its migrations are not given")
  }

  @available(
    *, unavailable,
    message: "one of the models has custom migration steps: pass a list of 'ModelWithMigrations'"
  )
  public convenience init(
    for models: [any ModelDeclaration.Type], stores: [PersistentStoreDescription]
  ) throws {
    throw ModelError.unreadable(model: "\(models)", reason: "its migrations are not given")
  }
}

/// The isolation of background tasks.
private actor BackgroundWorker {
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
