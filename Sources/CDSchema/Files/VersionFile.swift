/// The file of a version.
public enum VersionFile {
  /// The highest allowed version number.
  public static let highestNumber = 999_999_999

  /// The file's name for a version's number: `7.yaml`.
  public static func name(of version: Int) -> String { "\(version).yaml" }

  /// The version's number in a file's name: 7 for `7.yaml`. Nil for other names, including `07.yaml`.
  public static func number(in name: String) -> Int? {
    guard name.hasSuffix(".yaml"), let number = Int(name.dropLast(5)) else { return nil }
    guard (1...highestNumber).contains(number), self.name(of: number) == name else { return nil }
    return number
  }
}
