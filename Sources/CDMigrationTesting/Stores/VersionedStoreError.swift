/// Why a test's store could not do what was asked.
///
/// ```swift
/// do {
///   _ = try VersionedStore(of: ToDoModel.self, version: 9)
/// } catch VersionedStoreError.unknownVersion(let number) {
///   print("there is no version \(number)")
/// }
/// ```
public enum VersionedStoreError: Error, Hashable, Sendable {
  /// The model has no version of this number.
  case unknownVersion(Int)
  /// No store goes from the one version to the other.
  case noWay(from: Int, to: Int)
  /// There are generated classes for objects of the model's current version alone, if for any.
  case noClasses(version: Int, current: Int)
  /// No sample can be made for an attribute; give one to ``VersionedStore/insertSamples(_:)``.
  case noSample(entity: String, attribute: String, reason: String)
}

extension VersionedStoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknownVersion(let number): "the model has no version \(number)"
    case .noWay(let source, let destination): "no store goes from version \(source) to version \(destination)"
    case .noClasses(let version, let current):
      "there are no generated classes for a store of version \(version), but for version \(current) at the most; look "
        + "at its objects by 'objects(of:)'"
    case .noSample(let entity, let attribute, let reason):
      "no sample can be made for '\(attribute)' of '\(entity)', \(reason); give one: "
        + "insertSamples([\"\(entity).\(attribute)\": …])"
    }
  }
}
