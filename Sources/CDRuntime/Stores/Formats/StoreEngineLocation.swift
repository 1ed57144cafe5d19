/// Where a store of another engine than SQLite is.
///
/// The module that has the engine makes such locations. A coordinator has stores of one engine alone.
///
/// ```swift
/// func describe(_ location: StoreLocation) -> String {
///   if case .engine(let other) = location { "a store of another engine: \(other)" } else { "a store of SQLite" }
/// }
/// ```
public struct StoreEngineLocation: Sendable {
  /// By which two locations are told apart.
  let name: String
  /// Opens all stores of a coordinator, and makes those that are not there.
  let open: @Sendable (_ stores: [StoreSettings], ModelPlan) throws -> any StoreEngine

  init(name: String, open: @escaping @Sendable ([StoreSettings], ModelPlan) throws -> any StoreEngine) {
    self.name = name
    self.open = open
  }
}

/// What the opening of a store needs to know of it, but for its migration.
struct StoreSettings: Sendable {
  /// Where the store is.
  var location: StoreLocation
  /// The configuration whose entities the store holds; nil for what no other store's configuration names.
  var configuration: String?
  /// Whether the store is opened to be read alone.
  var isReadOnly = false
  /// How many seconds to wait for others who write.
  var busyTimeout: Double = 10
}
