#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// An error that explains why a store cannot be opened, read or written. The store is unchanged, except with
/// ``notRestored(_:reason:)``.
///
/// ```swift
/// do {
///   try context.save()
/// } catch StoreError.diskFull {
///   print("make room; the changes are still there to be saved")
/// } catch StoreError.busy {
///   print("another program is writing; try again")
/// }
/// ```
public enum StoreError: Error, Hashable, Sendable {
  /// The file is not a database.
  case notADatabase(URL)
  /// The file is a database that cdgen has not created.
  case foreignDatabase(URL)
  /// The schema of a server has the tables of a store that has another schema of its own. A migration has created them there.
  case tablesOfOtherStore(URL, schema: String)
  /// The file of an XML, binary or custom store is damaged, or has another format.
  case unreadable(URL, StoreFormatError)
  /// The code of a custom store format threw an error.
  case formatFailed(URL, format: String, reason: String)
  /// A later release of cdgen has created the store.
  case newerFormat(URL, found: Int, supported: Int)
  /// The metadata contain a value that no release of cdgen writes.
  case damagedMetadata(URL, key: String)
  /// The store belongs to another model: its metadata name another model than the one that opens it.
  case otherModel(URL, found: ModelIdentity, expected: ModelIdentity)
  /// The store was written with another version of the model and must be migrated. If a file holds several merged
  /// models, the error names the first one that must be migrated.
  case needsMigration(URL, model: String, from: Int, to: Int)
  /// The store holds objects of other entities than those that it is opened for. It was created with another
  /// configuration, or beside other stores. `configuration` is the configuration that fits, if there is one.
  case otherConfiguration(URL, holds: [String], configuration: String?, asked: [String])
  /// The folder of the store does not exist or cannot be written to.
  case cannotCreate(URL, reason: String)
  /// The file with the value of an `external:` attribute cannot be written, or does not exist.
  case externalData(URL, reason: String)
  /// The store was opened for reading only.
  case readOnly(URL)
  /// The store has been migrated, replaced or removed since it was opened. Or it was changed, and this program may not create
  /// files in its folder, so that it cannot follow changes. Or an XML, binary or custom file got another size, because a
  /// program that ignores the lock has edited it.
  case replaced(URL)
  /// A save to several stores has failed after the files of some of them had been written, and these files could not get
  /// their old contents back. They may contain changes that were not saved. Until the program ends, only the file is wrong:
  /// the objects are as they were before the save, and the next save writes the file again.
  case notRestored([URL], reason: String)
  /// The store is open elsewhere, in this process or in another. Or another copy is being made at this place.
  case inUse(URL)
  /// The files of a store cannot be removed.
  case cannotRemove(URL, reason: String)
  /// Two stores of one coordinator are the same file.
  case openedTwice(URL)
  /// The file has several names (hard links). Programs that open it by different names would damage it.
  case severalNames(URL, count: Int)
  /// The file contains objects that no release of cdgen puts into a store: triggers, views, virtual tables, or tables
  /// that differ from those of the store's model. They could run another author's SQL when the store is read or
  /// written.
  case foreignSchema(URL, objects: [String])
  /// The rollback journal beside the file names another file, which a rollback would remove. No release of cdgen creates
  /// such a journal. Another program created it, perhaps as an attack.
  case foreignJournal(URL)
  /// The next key of an entity's counter belongs to an object already, or no keys follow it.
  case damagedKeys(URL, entity: String)
  /// The engine of the store does not have this feature.
  case notSupported(String)
  /// None of the coordinator's stores holds the entity.
  case noStore(entity: String)
  /// Another connection was writing for longer than ``PersistentStoreDescription/busyTimeout``. If a coordinator has
  /// several stores, this error and the six that follow name all of them, because an engine may not report which one
  /// failed.
  case busy([URL])
  /// A coordinator is writing. The write has called code of the app (the sequence of a batch, or a store format), and
  /// that code asks the same coordinator to write: to save, to run a batch, to reserve keys for new objects, or to
  /// remove a store. Reading is possible in the meantime, except for stores in memory and stores that are written as a
  /// whole file.
  case nestedWrite([URL])
  /// The disk has too little space for the data to be written.
  case diskFull([URL])
  /// The file is damaged: its contents are not what the engine wrote.
  case damaged([URL], reason: String)
  /// The file cannot be written to, or the folder in which the engine keeps its journal.
  case notWritable([URL], reason: String)
  /// The operating system could not read or write.
  case inputOutput([URL], reason: String)
  /// The engine of the stores reported any other error.
  case engine([URL], StoreEngineError)
}

extension StoreError: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    switch self {
    case .notADatabase(let url):
      "\(Self.name(url)) is not a database; it was not changed. Choose another file for "
        + "the store"
    case .foreignDatabase(let url):
      Self.isOnServer(url)
        ? "the schema \(Self.name(url)) has tables of another program, and is not a store of cdgen; it was not changed. "
          + "Choose another schema for the store"
        : "\(Self.name(url)) is a database of another program, not a store of cdgen; it was not "
          + "changed. "
          + "Choose another file for the store"
    case .tablesOfOtherStore(let url, let schema):
      "the schema \(Self.name(url)) has tables of the store in the schema '\(schema)', which a migration has put there; it "
        + "was not changed. Open the store by its own schema, '\(schema)'"
    case .unreadable(let url, let error):
      "the store \(Self.name(url)) cannot be read, and was not changed: \(error)"
    case .formatFailed(let url, let format, let reason):
      "the store \(Self.name(url)) could not be read or written in the format '\(format)': \(reason)"
    case .newerFormat(let url, let found, let supported):
      "the store \(Self.name(url)) has the file format \(found), but this release of cdgen reads "
        + "formats up to \(supported); "
        + "update cdgen"
    case .damagedMetadata(let url, let key):
      "the store \(Self.name(url)) has no readable '\(key)' in _cdgen_metadata; restore it from a backup"
    case .otherModel(let url, let found, let expected):
      "the store \(Self.name(url)) belongs to model \(found), but was opened with model \(expected); "
        + (found.name == expected.name
          ? "the two models have the same name but different values of 'id' in model.yaml: if they are the same "
            + "model, restore "
            + "the 'id' of the store; otherwise choose another file for the store"
          : "open it with the model that created it")
    case .needsMigration(let url, let model, let from, let to):
      "the store \(Self.name(url)) was written with version \(from) of model '\(model)' and must "
        + "be migrated "
        + "to version \(to)"
    case .otherConfiguration(let url, let holds, let configuration, let asked):
      "the store \(Self.name(url)) contains \(Self.entities(holds)), but was opened for "
        + "\(Self.entities(asked)); "
        + (configuration.map { "open it with the configuration '\($0)'" }
          ?? "open it with a configuration that lists the entities it contains")
        + ", and use another \(Self.isOnServer(url) ? "schema" : "file") for the other entities"
    case .cannotCreate(let url, let reason):
      "no store can be created at \(Self.name(url)): \(reason)"
    case .externalData(let url, let reason):
      "the file \(Self.name(url)) with the value of an external attribute cannot be used: \(reason)"
    case .readOnly(let url):
      "the store \(Self.name(url)) was opened read-only; open it without `isReadOnly` to change it"
    case .replaced(let url):
      Self.isOnServer(url)
        ? "the store \(Self.name(url)) has been migrated to another version of its model, or removed, since it was opened; "
          + "nothing was written. Open it with a program of its new version"
        : "the file \(Self.name(url)) has been removed, replaced or changed since it was opened; "
          + "nothing was written. Create a new coordinator"
    case .notRestored(let urls, let reason):
      "a save has failed, and its changes may still be in "
        + urls.map { Self.name($0) }.joined(separator: ", ")
        + ", which could not get its old contents back (\(reason)); remove the cause and save again before the program "
        + "ends, which writes the file again"
    case .inUse(let url):
      "the store \(Self.name(url)) is in use; release its containers, contexts and objects, and "
        + "close other programs that use it or copy a store to this place"
    case .cannotRemove(let url, let reason):
      "the store \(Self.name(url)) cannot be removed: \(reason)"
    case .openedTwice(let url):
      Self.isOnServer(url)
        ? "the schema \(Self.name(url)) is already a store of the coordinator; use a separate schema for each store"
        : "the file \(Self.name(url)) is already a store of the coordinator; use a separate file for "
          + "each store"
    case .severalNames(let url, let count):
      "the file \(Self.name(url)) has \(count) names (hard links), and programs that open it by different names would "
        + "damage it; it was not changed. Remove the other names, or replace them with copies"
    case .foreignSchema(let url, let objects):
      "the store \(Self.name(url)) was not opened, because another program has added "
        + objects.prefix(5).joined(separator: ", ") + (objects.count > 5 ? ", and more" : "")
        + "; remove the additions with that program, or restore the store from a backup"
    case .foreignJournal(let url):
      "the journal \(Self.name(url))-journal belongs to another program: rolling it back would "
        + "delete the file that the journal names. "
        + "The store was not opened. Open the file with the program that created it, or restore it from a backup"
    case .notSupported(let feature): "the engine of the store does not support \(feature); use a SQLite store"
    case .damagedKeys(let url, let entity):
      "the store \(Self.name(url)) has a damaged counter for the keys of '\(entity)'; set it in _cdgen_keys to a number "
        + "above the largest _pk of that table, or restore the store from a backup"
    case .noStore(let entity):
      "no store of the coordinator contains '\(entity)'; open a store whose configuration lists the entity"
    case .busy(let urls):
      "another connection or process was still writing to \(Self.names(urls)) at the timeout; nothing was written. "
        + "Try again"
    case .nestedWrite(let urls):
      "\(Self.names(urls)) is being written by this thread, and code that runs during the write used the same "
        + "coordinator; "
        + "collect the rows of a batch before it begins, and save or insert objects after it has ended"
    case .diskFull(let urls):
      "the disk of \(Self.names(urls)) is full; nothing was written. Free disk space and try again"
    case .damaged(let urls, let reason):
      "\(Self.names(urls)) is damaged (\(reason)); restore it from a backup"
    case .notWritable(let urls, let reason):
      "\(Self.names(urls)) cannot be written to (\(reason)); change the permissions of the file and its folder, or "
        + "open it with `isReadOnly`"
    case .inputOutput(let urls, let reason):
      "\(Self.names(urls)) cannot be read or written: \(reason)"
    case .engine(let urls, let error):
      "\(error.engine) error \(error.code) of \(Self.names(urls)) while \(error.operation): \(error.message)"
    }
  }

  @_optimize(none)
  private static func entities(_ names: [String]) -> String {
    names.isEmpty ? "no entity" : names.map { "'\($0)'" }.joined(separator: ", ")
  }

  /// The path of a file, or the address of a server.
  static func name(_ url: URL) -> String {
    url.isFileURL ? url.path(percentEncoded: false) : url.absoluteString
  }

  private static func isOnServer(_ url: URL) -> Bool { !url.isFileURL && url.scheme != "memory" }

  @_optimize(none)
  private static func names(_ urls: [URL]) -> String {
    urls.count == 1
      ? "the store \(name(urls[0]))"
      : "one of the stores \(urls.map { name($0) }.joined(separator: ", "))"
  }
}

/// An error that the engine of a store reported, and that has no case of its own in ``StoreError``.
///
/// ```swift
/// do {
///   try context.save()
/// } catch StoreError.engine(_, let error) {
///   print("\(error.engine) refuses the save with the code \(error.code): \(error.message)")
/// }
/// ```
public struct StoreEngineError: Error, Hashable, Sendable {
  /// The name of the engine, such as `SQLite`.
  public let engine: String
  /// The engine's own code, such as `19`. For SQLite it is the extended result code.
  public let code: String
  /// The engine's own message.
  public let message: String
  /// What the engine was doing.
  public let operation: String
  /// Whether the cause is the query itself, such as a calculation that fails for one of the rows, and not the store. A
  /// fetch then asks the evaluator.
  package let isOfQuery: Bool
  /// Whether the cause is the connection to a server. The same operation can succeed when there is a connection again.
  public let isOfConnection: Bool
  /// Whether the same operation can succeed later although nobody changes anything: the server is away, starts, has too much
  /// to do, or was too slow.
  package let isPassing: Bool

  /// Creates an error for an engine to throw in ``StoreError/engine(_:_:)``.
  package init(
    engine: String, code: String, message: String, operation: String, isOfQuery: Bool = false,
    isOfConnection: Bool = false, isPassing: Bool = false
  ) {
    self.engine = engine
    self.code = code
    self.message = message
    self.operation = operation
    self.isOfQuery = isOfQuery
    self.isOfConnection = isOfConnection
    self.isPassing = isPassing
  }
}

extension StoreError {
  /// Whether the error comes from the statement and not from the store.
  var isOfStatement: Bool {
    if case .engine(_, let error) = self { error.isOfQuery } else { false }
  }

  /// The files that may still have the changes of a transaction which has thrown an error, and so may name the files of its
  /// large values. Once such a file has been written again, a later opening removes these.
  @_optimize(none)
  static func unrestoredFiles(after error: any Error) -> [URL] {
    if case StoreError.notRestored(let urls, _) = error { urls } else { [] }
  }

  /// Whether the same operation can succeed later although nobody changes anything.
  var isPassing: Bool {
    switch self {
    case .busy: true
    case .engine(_, let error): error.isPassing
    default: false
    }
  }
}

/// The identity of a model, as a store's metadata contain it. Two models may have the same name.
///
/// ```swift
/// do {
///   _ = try PersistentContainer(for: ToDoModel.self, at: url)
/// } catch StoreError.otherModel(_, let found, let expected) {
///   print("the store is of \(found), the app of \(expected)")
/// }
/// ```
public struct ModelIdentity: Hashable, Sendable, CustomStringConvertible {
  /// The model's name, which may change.
  public let name: String
  /// The model's `id`, which never changes.
  public let id: UUID

  /// Creates the identity of a model.
  public init(name: String, id: UUID) {
    self.name = name
    self.id = id
  }

  init(_ model: ManagedObjectModel) { self.init(name: model.name, id: model.id) }

  /// `'Notes' (8A5D8C0E-5B5E-4B0E-9C60-3B1B6C1E7A01)`
  public var description: String { "'\(name)' (\(id.uuidString))" }
}

extension StoreError: PresentableError {
  public var situation: ErrorSituation {
    switch self {
    case .notADatabase, .foreignDatabase, .tablesOfOtherStore, .otherModel, .foreignSchema, .foreignJournal:
      .foreignFile
    case .unreadable, .damagedMetadata, .damagedKeys, .damaged, .externalData: .storeDamaged
    case .newerFormat: .newerStore
    case .needsMigration: .olderStore
    case .cannotCreate, .readOnly, .cannotRemove, .notWritable: .notWritable
    case .replaced: .storeMissing
    case .inUse, .busy, .severalNames: .storeBusy
    case .diskFull: .diskFull
    case .engine(_, let error): error.isOfConnection ? .serverUnreachable : .inputOutput
    case .inputOutput, .notRestored: .inputOutput
    case .formatFailed, .otherConfiguration, .openedTwice, .notSupported, .noStore, .nestedWrite:
      .mistakeOfApp
    }
  }
}
