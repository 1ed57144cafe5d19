public import CDRuntime

/// An error of a test's store.
///
/// ```swift
/// do {
///   _ = try VersionedStore(of: ToDoModel.self, version: 9)
/// } catch VersionedStoreError.unknownVersion(let number) {
///   print("there is no version \(number)")
/// }
/// ```
public enum VersionedStoreError: Error, Hashable, Sendable {
  /// The model has no version with this number.
  case unknownVersion(Int)
  /// No migration leads from the first version to the second.
  case noWay(from: Int, to: Int)
  /// The model has generated classes for its current version only, or none.
  case noClasses(version: Int, current: Int)
  /// No sample can be created for an attribute. Give ``VersionedStore/insertSamples(_:)`` a value for it.
  case noSample(entity: String, attribute: String, reason: String)
}

extension VersionedStoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknownVersion(let number): "the model has no version \(number)"
    case .noWay(let source, let destination):
      "no migration steps lead from version \(source) to version \(destination)"
    case .noClasses(let version, let current):
      "generated classes exist only for version \(current), not for a store of version \(version); read "
        + "its objects by 'objects(of:)'"
    case .noSample(let entity, let attribute, let reason):
      "no sample can be made for '\(attribute)' of '\(entity)', \(reason); give one: "
        + "insertSamples([\"\(entity).\(attribute)\": …])"
    }
  }
}

extension VersionedStoreError: PresentableError {
  public var situation: ErrorSituation { .mistakeOfApp }
}
