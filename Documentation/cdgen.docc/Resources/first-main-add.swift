import CDRuntime
import Foundation

let container = try PersistentContainer(for: PlantsModel.self, at: URL(filePath: "Plants.sqlite"))
let context = container.viewContext
let arguments = Array(CommandLine.arguments.dropFirst())

switch arguments.first {
case "add" where arguments.count == 4:
  let plant = Plant(name: arguments[1], in: context)
  plant.room = try Room.object(name: arguments[2], in: context) ?? Room(name: arguments[2], in: context)
  plant.height = arguments[3]
  try context.save()
default:
  print("Plants add NAME ROOM HEIGHT")
}
