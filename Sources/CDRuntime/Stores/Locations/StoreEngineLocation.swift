#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The location of a store of an engine other than SQLite.
///
/// The engine's module creates such locations. A coordinator can have stores of several engines.
///
/// ```swift
/// func describe(_ location: StoreLocation) -> String {
///   if case .engine(let other) = location { "a store of another engine: \(other)" } else { "a store of SQLite" }
/// }
/// ```
public struct StoreEngineLocation: Sendable {
  /// The name by which two locations are compared.
  package let name: String
  /// The name of the engine. It opens all stores of a coordinator with this name.
  package let engine: String
  /// What the engine's module needs to know of the location.
  package let details: (any Sendable)?
  /// Opens all stores of a coordinator that have this engine, and creates those that do not exist.
  package let open: @Sendable (_ stores: [StoreSettings], ModelPlan) throws -> any StoreEngine
  /// Reads and writes the store as a whole; nil if the engine cannot.
  package let transfer: (any StoreTransfer)?
  /// Makes one engine of several, for a coordinator whose stores have several engines. It is in a module that an app with
  /// SQLite alone does not compile.
  package let combine: @Sendable (_ engines: [any StoreEngine], ModelPlan) -> any StoreEngine

  /// Creates a location, for the engine's module.
  ///
  /// - Parameters:
  ///   - name: The name by which two locations are compared, such as the address of a server.
  ///   - engine: The name of the engine; nil for the location's own name.
  ///   - details: What the engine's module needs to know of the location.
  ///   - transfer: Reads and writes the store as a whole; nil if the engine cannot. Such an engine migrates no store
  ///     either.
  ///   - combine: Makes one engine of several, the first of which is SQLite if it is one of them.
  ///   - open: Opens all stores of a coordinator that have this engine, and creates those that do not exist.
  package init(
    name: String, engine: String? = nil, details: (any Sendable)? = nil,
    transfer: (any StoreTransfer)? = nil,
    combine: @escaping @Sendable ([any StoreEngine], ModelPlan) -> any StoreEngine,
    open: @escaping @Sendable ([StoreSettings], ModelPlan) throws -> any StoreEngine
  ) {
    self.name = name
    self.engine = engine ?? name
    self.details = details
    self.transfer = transfer
    self.combine = combine
    self.open = open
  }
}

extension StoreEngineLocation {
  /// Reads and writes the store as a whole.
  ///
  /// - Throws: ``StoreError/notSupported(_:)`` if the engine cannot.
  var requiredTransfer: any StoreTransfer {
    get throws {
      guard let transfer else { throw StoreError.notSupported("copies of stores of the engine '\(engine)'") }
      return transfer
    }
  }

  /// The URL that errors show.
  var url: URL { URL(string: name) ?? URL(filePath: name) }
}
