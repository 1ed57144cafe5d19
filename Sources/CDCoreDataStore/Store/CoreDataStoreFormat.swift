public import CDModel
public import CDRuntime
import Synchronization

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A store format for Core Data's SQLite stores, which can be read but not written.
///
/// The model is an import of Xcode's model by `cdgen import`, and its current version must be the store's version:
///
/// ```swift
/// let store = try CoreDataStore(at: url)
/// let ofStore = try store.managedObjectModel(in: model)
/// let container = try PersistentContainer(
///   model: ofStore, at: .custom(url, CoreDataStoreFormat(model: ofStore)))
/// ```
///
/// All objects are then in memory, including large values, and a save throws `StoreError.readOnly`. Use
/// ``CoreDataStore/copy(to:model:version:acceptsLosses:)`` to create a store that can be written.
public struct CoreDataStoreFormat: StoreFormat {
  /// `Core Data`.
  public let name = "Core Data"
  /// True: this module never writes to a Core Data store.
  public var isReadOnly: Bool { true }

  private let model: ManagedObjectModel
  private let version: Int?
  private let acceptsLosses: Bool
  let outcome = Outcome()

  /// The result of the last reading.
  final class Outcome: Sendable {
    struct Result: Sendable {
      var report = ReadingReport()
      var version: ModelVersion?
    }
    let result = Mutex(Result())
  }

  /// Creates the format for a model.
  ///
  /// - Parameters:
  ///   - model: The model, one of whose versions fits the store.
  ///   - version: The number of the store's version; nil to find it.
  ///   - acceptsLosses: Whether to read a store although some values cannot be read: values that do not have their
  ///     attribute's type, or references that lead to no object. If it is false, reading such a store throws
  ///     ``CoreDataStoreError/losses(_:_:)`` with all of them.
  public init(model: ManagedObjectModel, version: Int? = nil, acceptsLosses: Bool = false) {
    self.model = model
    self.version = version
    self.acceptsLosses = acceptsLosses
  }

  /// The values that the last reading of a store has left out.
  public var losses: CoreDataLosses { outcome.result.withLock { $0.report.losses } }

  /// Whether a file may be a Core Data store. All SQLite databases begin with the same bytes.
  public func recognizes(_ start: [UInt8]) -> Bool { start.starts(with: "SQLite format 3\u{0}".utf8) }

  /// Whether a file is a Core Data store.
  public func recognizes(_ start: [UInt8], of url: URL) -> Bool {
    recognizes(start) && CoreDataStore.isStore(at: url)
  }

  /// Always throws, because the format cannot be written.
  public func write(_ contents: StoreContents, to output: StoreOutput) throws {
    throw StoreFormatError(.syntax("stores of Core Data can be read, but not written"))
  }

  /// Reads a store.
  ///
  /// - Throws: ``CoreDataStoreError``, or an error of the builder.
  public func read(_ input: StoreInput, into builder: StoreBuilder) throws {
    outcome.result.withLock { $0 = Outcome.Result() }
    let source = try CoreDataSource(input.url)
    var reading = StoreReading(
      source, try source.layout(in: model, version: version), acceptsLosses: acceptsLosses)
    defer {
      outcome.result.withLock { result in
        result.report = reading.report
        result.version = model.version(reading.layout.version.number)
      }
    }
    try reading.run(model, into: builder)
  }
}
