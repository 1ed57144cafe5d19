#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A model with its store, and the contexts to work with.
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
/// - ``init(for:at:)``
/// - ``init(for:app:)``
/// - ``init(for:stores:)-(GeneratedModel.Type,_)``
/// - ``init(for:stores:)-6hofu``
/// - ``init(model:at:)``
/// - ``init(_:)``
/// - ``defaultDirectoryURL(forApp:)``
///
/// ### With the app's own migrations
/// - ``init(for:migrations:at:)``
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
  /// The model and its stores, which the container's contexts share.
  public let persistentStoreCoordinator: PersistentStoreCoordinator

  /// The context of the main actor. It reads one state of the store during a turn of the main actor.
  @MainActor public var viewContext: ManagedObjectContext { view.context }

  /// Whether ``viewContext`` learns of what others have saved when they do it: other contexts at once, other processes
  /// within a quarter of a second. Otherwise it does so when it next reads, which a screen that shows what it has read
  /// does not. False unless set.
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

  /// Opens the store of a model: a file that is there as what it is, whatever its name; where there is none, a SQLite
  /// store is made. ``PersistentStoreDescription`` chooses another kind.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; an existing store is then as it was.
  public convenience init(for model: any GeneratedModel.Type, at url: URL) throws {
    self.init(
      try PersistentStoreCoordinator(
        for: model, at: StoreLocation(recognizing: url)))
  }

  /// Opens the store of a model without generated classes.
  public convenience init(model: ManagedObjectModel, at url: URL) throws {
    self.init(
      try PersistentStoreCoordinator(
        model: model, at: StoreLocation(recognizing: url)))
  }

  /// Opens several stores, each for a configuration of the model.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; existing stores are then as they were.
  public convenience init(
    for model: any GeneratedModel.Type, stores: [PersistentStoreDescription]
  ) throws {
    self.init(try PersistentStoreCoordinator(for: model, stores: stores))
  }

  /// Opens stores for several models: see ``PersistentStoreCoordinator/init(for:stores:)-3w0hq``.
  ///
  /// - Throws: `ModelMergeError`, ``ModelError``, or ``StoreError``; existing stores are then as they were.
  public convenience init(
    for models: [any GeneratedModel.Type], stores: [PersistentStoreDescription]
  ) throws {
    self.init(try PersistentStoreCoordinator(for: models, stores: stores))
  }

  /// Makes a store in memory, for tests and previews.
  public convenience init(inMemoryFor model: any ModelDeclaration.Type) throws {
    self.init(
      try PersistentStoreCoordinator(
        for: [ModelWithMigrations(declaration: model)], stores: [PersistentStoreDescription(.inMemory)]))
  }

  /// Makes a store in memory of a model without generated classes.
  public convenience init(inMemoryModel model: ManagedObjectModel) throws {
    self.init(try PersistentStoreCoordinator(model: model, at: .inMemory))
  }

  /// A container for stores that are open already.
  public init(_ coordinator: PersistentStoreCoordinator) {
    persistentStoreCoordinator = coordinator
    view = ViewContext(coordinator)
  }

  /// Makes a context for the isolation that asks for it.
  public func newContext() -> sending ManagedObjectContext {
    ManagedObjectContext(persistentStoreCoordinator)
  }

  /// Runs a block with a context of its own, on a thread of its own.
  ///
  /// The block reads one state of the store, and what it has saved itself. Its changes are lost unless it
  /// saves them.
  public func performBackgroundTask<R>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> sending R
  ) async throws -> sending R {
    try await BackgroundWorker(persistentStoreCoordinator).perform(body)
  }
}

/// Makes the main actor's context when it is first asked for.
@MainActor private final class ViewContext {
  private let coordinator: PersistentStoreCoordinator
  private(set) lazy var context: ManagedObjectContext = {
    let context = ManagedObjectContext(coordinator)
    context.holdSnapshots { [weak self] in
      // Runs in the next turn.
      Task { @MainActor in self?.context.endReading() }
    }
    coordinator.engine.tellOfRemovals(self) { [weak self] in
      Task { @MainActor in self?.context.noticeRemovalsNow() }
    }
    context.scheduleEndOfEvent = { [weak self] in
      Task { @MainActor in self?.context.endUndoEvent() }
    }
    return context
  }()

  nonisolated init(_ coordinator: PersistentStoreCoordinator) {
    self.coordinator = coordinator
  }

  /// What merges others' saves while that is wanted.
  private(set) var merging: Task<Void, Never>?

  func merge(_ isWanted: Bool) {
    guard isWanted != (merging != nil) else { return }
    merging?.cancel()
    merging = nil
    guard isWanted else { return }
    // Where the store cannot be read, the next fetch says why.
    guard let changes = try? coordinator.changes() else { return }
    merging = Task { @MainActor [weak self] in
      do {
        for try await _ in changes {
          guard let self else { return }
          try self.context.learnOfSaves()
        }
      } catch {
        self?.merging = nil
      }
    }
  }

  deinit {
    merging?.cancel()
    coordinator.engine.stopTellingOfRemovals(ObjectIdentifier(self))
  }
}

extension PersistentContainer {
  /// Where stores of an app are by default: a folder of the app's name in Application Support on Apple systems, in
  /// `$XDG_DATA_HOME` (or `~/.local/share`) elsewhere.
  ///
  /// - Parameter name: The app's name; the program's by default.
  public static func defaultDirectoryURL(forApp name: String? = nil) -> URL {
    let program = CommandLine.arguments.first.map { URL(filePath: $0).lastPathComponent } ?? ""
    let name = name ?? (program.isEmpty ? "cdgen" : program)
    #if canImport(Darwin)
      return URL.applicationSupportDirectory.appending(path: name)
    #else
      // The standard asks for an absolute path, and for others to be ignored.
      let environment = ProcessInfo.processInfo.environment
      let data =
        environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? URL(filePath: $0) : nil }
        ?? URL.homeDirectory.appending(path: ".local/share")
      return data.appending(path: name)
    #endif
  }

  /// Opens the store of a model where the platform keeps an app's data: `NAME.sqlite`, with the model's name, in
  /// ``defaultDirectoryURL(forApp:)``. The folder is made if it is not there.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; an existing store is then as it was.
  public convenience init(for model: any GeneratedModel.Type, app: String? = nil) throws {
    try self.init(for: model, at: Self.storeURL(of: model, app: app))
  }

  /// Where the store of a model is by default, in a folder that is made if it is not there.
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

// Models whose stores take the app's own code to migrate.
extension PersistentContainer {
  /// Opens the store of a model with custom steps, and makes it where there is none.
  ///
  /// The app's own code is made anew for each migration.
  ///
  /// - Throws: ``ModelError``, ``StoreError``, or ``MigrationError``; an existing store is then as it was.
  public convenience init<Model: CustomMigratingModel>(
    for model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations, at url: URL
  ) throws {
    self.init(
      try PersistentStoreCoordinator(
        for: model, migrations: migrations, at: StoreLocation(recognizing: url)))
  }

  /// Opens the store of a model with custom steps where the platform keeps an app's data: see ``init(for:app:)``.
  ///
  /// The app's own code is made anew for each migration.
  ///
  /// - Throws: ``ModelError``, ``StoreError``, or ``MigrationError``; an existing store is then as it was.
  public convenience init<Model: CustomMigratingModel>(
    for model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations, app: String? = nil
  ) throws {
    try self.init(for: model, migrations: migrations, at: Self.storeURL(of: model, app: app))
  }

  /// Opens several stores of a model with custom steps, each for a configuration.
  ///
  /// The app's own code is made anew for each migration. A store's own
  /// ``PersistentStoreDescription/migrationPolicies`` come first.
  ///
  /// - Throws: ``ModelError``, ``StoreError``, or ``MigrationError``; existing stores are then as they were.
  public convenience init<Model: CustomMigratingModel>(
    for model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations,
    stores: [PersistentStoreDescription]
  ) throws {
    self.init(try PersistentStoreCoordinator(for: model, migrations: migrations, stores: stores))
  }

  /// Opens stores for several models, of which some have custom steps.
  ///
  /// - Throws: `ModelMergeError`, ``ModelError``, ``StoreError``, or ``MigrationError``; existing stores are then as
  ///   they were.
  public convenience init(for models: [ModelWithMigrations], stores: [PersistentStoreDescription]) throws {
    self.init(try PersistentStoreCoordinator(for: models, stores: stores))
  }
}

// What does not compile, and what to write instead.
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
