/// A file of a model's folder.
public struct ModelFile: Hashable, Sendable {
  /// The purpose of a file, determined by its name.
  public enum Kind: Hashable, Sendable {
    /// `model.yaml`
    case model
    /// `7.yaml`
    case version(Int)
    /// `6-7.mapping.yaml`
    case mapping(from: Int, to: Int)
    /// `versions.lock`
    case lock
    /// A file that cdgen does not use, such as a README.
    case other

    /// Determines the purpose from a file's name. Returns nil for a YAML file whose name is not allowed in a model.
    public init?(fileName: String) {
      switch fileName {
      case "model.yaml": self = .model
      case "versions.lock": self = .lock
      default:
        if let number = VersionFile.number(in: fileName) {
          self = .version(number)
        } else if let (from, to) = Self.mappingNumbers(fileName) {
          self = .mapping(from: from, to: to)
        } else if fileName.hasPrefix(".") || !(fileName.hasSuffix(".yaml") || fileName.hasSuffix(".yml")) {
          self = .other
        } else {
          return nil
        }
      }
    }

    private static func mappingNumbers(_ fileName: String) -> (Int, Int)? {
      guard fileName.hasSuffix(".mapping.yaml") else { return nil }
      let numbers = fileName.dropLast(".mapping.yaml".count).split(
        separator: "-", omittingEmptySubsequences: false)
      guard numbers.count == 2, let from = VersionFile.number(in: "\(numbers[0]).yaml"),
        let to = VersionFile.number(in: "\(numbers[1]).yaml")
      else { return nil }
      return (from, to)
    }
  }

  /// What the file contains.
  public var kind: Kind
  /// The name in the folder.
  public var name: String
  /// The path for messages: the folder's path as the caller gave it, with the file's name.
  public var path: String
  /// The contents of the file. They need not be valid UTF-8.
  public var bytes: [UInt8]

  /// Creates a file. It need not exist on disk.
  public init(kind: Kind, name: String, path: String, bytes: [UInt8]) {
    self.kind = kind
    self.name = name
    self.path = path
    self.bytes = bytes
  }
}
