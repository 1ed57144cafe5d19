import ArgumentParser
import CDConsole
import CDModel
import CDSchema

/// `cdgen add-version`
struct AddVersion: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Create the next version of a model.",
    discussion: """
      Copies the file of the current version to the next free number. The copy has no 'renamedFrom', 'label' \
      and 'basedOn', because these belong to the current version only. Change the copy, and never a version \
      that stores were created with. No existing file is overwritten.

        cdgen add-version Schemas/ToDo.cdmodel
      """)

  @Argument(help: "The folder of the model.", completion: .directory)
  var model: String

  func run() throws {
    try reportingFailures {
      let (loaded, model) = try ModelFolder.load(self.model, showsWarnings: false)
      let current = model.currentVersionNumber
      let highest = model.versions.map(\.number).max() ?? current
      let next = NextVersion(number: highest + 1, basedOn: current)
      let file = OutputFile(
        path: FileSystem.join(ModelFolder.trimmed(self.model), VersionFile.name(of: next.number)),
        contents: try next.text(from: loaded))
      try file.create()
      try Console.write(line: file.path)
      if loaded.positions[.model, "current"] != nil {
        Console.error(
          "note: model.yaml still says 'current: \(current)'; change it when version \(next.number) is done"
        )
      }
    }
  }
}
