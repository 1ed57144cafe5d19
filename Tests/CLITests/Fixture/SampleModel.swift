/// A small model, in the file form that commands read.
enum SampleModel {
  static let head = "id: 0B0B2D52-8E5A-4F0B-9E0C-7D5B0D2F6A10\n"

  static let version = """
    entities:
      Note:
        attributes:
          text: String
        relationships:
          folder: { to: Folder?, inverse: notes }
      Folder:
        attributes:
          name: String
        relationships:
          notes: { to: [Note], inverse: folder, onDelete: cascade }

    """

  /// Makes `NAME.cdmodel` in a folder.
  static func make(
    _ name: String = "Notes", in folder: TemporaryFolder, head: String = head, version: String = version
  ) throws {
    try folder.write(head, to: "\(name).cdmodel/model.yaml")
    try folder.write(version, to: "\(name).cdmodel/1.yaml")
  }
}
